#include "engine/slurm/site/site_install.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sharewell::engine {
namespace {

using core::Result;

// The shell of the script that is the same for every site; what it is told stands above it.
constexpr std::string_view kInstallShell = R"SH(
say() { echo "$1" >&2; }

# Slurm does not know at its restart which GPUs are in use under their old names: it would give them out again.
jobs_in_the_way() {
  local id ids
  ids=$(squeue -h -a -w "$2" -t running,suspended,configuring,completing,stopped -o %A) || return 1
  for id in $ids; do
    if scontrol -d -o show job "$id" 2>/dev/null | grep -E ' GRES=[^ ]*(gpu|shard)' >/dev/null; then
      squeue -h -a -j "$id" -o '  %i of %u, %T on %N' 2>/dev/null || true
    fi
  done
  if [ "$1" = --undo ]; then
    squeue -h -a -t pending -O 'JobID:24,UserName:32,admin_comment:200' | awk '/sharewell1 / { print "  " $1 " of " $2 ", waiting to be placed" }'
  fi
}

# refuse_with_jobs ACTION NODES: stops where there are such jobs on the nodes, unless it was told to go on.
refuse_with_jobs() {
  local jobs
  [ "$anyway" = no ] && [ -n "$2" ] || return 0
  if ! jobs=$(jobs_in_the_way "$@"); then
    say "squeue does not answer, so nobody knows whether GPUs are in use. With slurmctld down for good: add --anyway"
    exit 1
  fi
  [ -n "$jobs" ] || return 0
  say "These jobs are in the way:"
  say "$jobs"
  say "Their GPUs would be given out a second time. Let them end (scontrol update PartitionName=... State=DOWN keeps"
  say "others from starting), or cancel them; --anyway goes on nonetheless."
  exit 1
}

install_conf() {
  local file text
  command -v patch >/dev/null || { say "patch is not installed (Debian: apt install patch; RHEL: dnf install patch)"; exit 1; }
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT # all through the script: it is not local
  for file in "${files[@]}"; do
    text=$(patch_of "$file")
    [ -n "$text" ] || continue
    if [ -e "$file.after-sharewell" ]; then
      say "$file has these lines already; take them back first: bash install.sh --undo"
      exit 1
    fi
    mkdir -p "$work$(dirname "$file")"
    if [ -e "$file" ]; then cp "$file" "$work$file"; else : >"$work$file"; fi
    if ! patch --silent --force --fuzz=0 --binary --reject-file=- "$work$file" <<<"$text" >/dev/null; then
      say "$file is not as it was when this script was printed: nothing was changed. Print it again."
      exit 1
    fi
  done
  # After that, so that a second run says what it is.
  if [ -n "$(ls -A "$work")" ]; then refuse_with_jobs install "$renamed"; fi
  # All of them fit: now they are written, each into the file that is there, which may be a link.
  for file in "${files[@]}"; do
    [ -e "$work$file" ] || continue
    if [ -e "$file" ]; then cp -p "$file" "$file.before-sharewell"; fi
    cat "$work$file" >"$file"
    cp -p "$file" "$file.after-sharewell"
  done
}

undo_conf() {
  local file changed=no
  for file in "${files[@]}"; do
    [ -e "$file.after-sharewell" ] || continue
    cmp -s "$file" "$file.after-sharewell" && continue
    changed=yes
    say "$file was changed since; this shows how:  diff $file.after-sharewell $file"
    say "Put that back and try again. To keep it, take our lines alone out of the file, and try again:"
    say "  diff -uN $file.before-sharewell $file.after-sharewell | patch -R $file && rm $file.*-sharewell"
  done
  [ "$changed" = no ] || { say "Nothing was taken back."; exit 1; }
  for file in "${files[@]}"; do
    [ -e "$file.after-sharewell" ] || continue
    if [ -e "$file.before-sharewell" ]; then cat "$file.before-sharewell" >"$file"; else rm -f "$file"; fi
    rm -f "$file.before-sharewell" "$file.after-sharewell"
  done
}

restart_words() {
  echo "Now, in this order: a slurmd that registers with other GPUs than slurmctld knows is drained."
  echo "  systemctl stop slurmctld"
  echo "  systemctl restart slurmd      # on every node, with its new slurm.conf and gres.conf"
  echo "  systemctl start slurmctld"
}

what=${1:-install} anyway=no
if [ "$what" = --anyway ]; then what=install anyway=yes; fi
if [ "${2:-}" = --anyway ]; then anyway=yes; fi
case "$what" in
install) ;;
--undo)
  refuse_with_jobs --undo "$nodes"
  undo_conf
  # Our scripts stay until the daemons no longer call them: a Prolog that is not there would drain the nodes.
  rm -f "$cron"
  restart_words
  echo "Then: bash install.sh --clean"
  exit 0
  ;;
--clean)
  # After the restart: jobs that are still held go to plain Slurm, and our files go.
  if [ -x "$folder/sharewell-watchdog" ]; then "$folder/sharewell-watchdog" --now || true; fi
  rm -f "$folder"/{sharewell-prolog,sharewell-epilog,sharewell-task-prolog,sharewell-watchdog,sharewell-slurm.conf,sharewell-cli-filter.lua,$lua}
  exit 0
  ;;
*)
  say "usage: bash install.sh [--undo | --clean] [--anyway]"
  exit 2
  ;;
esac

install_conf

)SH";

std::vector<std::string> LinesIn(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::string FileText(const std::string& path, std::string_view text, const std::string& why,
                     const char* mode) {
  return fmt::format("# {0}\ncat > {1} <<'SHAREWELL_END'\n{2}SHAREWELL_END\nchmod {3} {1}\n\n", why,
                     path, text, mode);
}

std::string LuaText(const SlurmSite& site, const SiteFiles& files, const InstallOptions& options) {
  const std::string lua = LuaFor(files.lua, options);
  const bool own = !site.lua.empty() && site.lua.find("sharewell1") == std::string::npos;
  if (!own) {
    return FileText(options.folder + "/job_submit.lua", lua,
                    "Holds jobs that ask for GPUs, and keeps users from releasing them.", "644");
  }
  const std::string path = options.folder + "/sharewell.lua";
  return FileText(path, lua, "Ours, beside the site's own job_submit.lua.", "644") +
         fmt::format(
             "# This site has a job_submit.lua. Put these lines at its end, before its last "
             "return:\n"
             "#   local site_submit, site_modify = slurm_job_submit, slurm_job_modify\n"
             "#   dofile(\"{}\")\n"
             "#   local our_submit, our_modify = slurm_job_submit, slurm_job_modify\n"
             "#   function slurm_job_submit(job, parts, uid)\n"
             "#     local rc = site_submit(job, parts, uid)\n"
             "#     if rc ~= slurm.SUCCESS then return rc end\n"
             "#     return our_submit(job, parts, uid)\n"
             "#   end\n"
             "#   function slurm_job_modify(job, record, parts, uid)\n"
             "#     local rc = site_modify(job, record, parts, uid)\n"
             "#     if rc ~= slurm.SUCCESS then return rc end\n"
             "#     return our_modify(job, record, parts, uid)\n"
             "#   end\n\n",
             path);
}

// The changes of each file as a patch, and why.
std::string PatchText(const std::map<std::string, std::string>& texts, const SiteChange& change) {
  std::string out;
  for (const std::string& why : change.why) out += fmt::format("#   {}\n", why);
  if (change.edits.empty())
    return out + "# slurm.conf, gres.conf: nothing to change.\npatch_of() { :; }\n";
  out += "patch_of() {\n  case \"$1\" in\n";
  for (const auto& [path, edits] : change.edits) {
    const auto text = texts.find(path);
    out += fmt::format("  {})\n    cat <<'SHAREWELL_END'\n{}SHAREWELL_END\n    ;;\n", path,
                       UnifiedDiff(path, text == texts.end() ? "" : text->second, edits));
  }
  return out + "  esac\n}\n";
}

}  // namespace

std::string LuaFor(std::string_view lua, const InstallOptions& options) {
  std::vector<std::string> uids;
  for (const unsigned uid : options.schedulers) uids.push_back(fmt::format("[{}] = true", uid));
  const std::string partitions =
      options.partition.empty() ? "{}" : fmt::format("{{ [\"{}\"] = true }}", options.partition);
  std::string out;
  for (const std::string& line : LinesIn(lua)) {
    if (line.ends_with("-- @PARTITIONS@")) {
      out += "local PARTITIONS = " + partitions;
    } else if (line.ends_with("-- @SCHEDULERS@")) {
      out += fmt::format("local SCHEDULERS = {{ {} }}", fmt::join(uids, ", "));
    } else if (line.ends_with("-- @HOLD_CPU_JOBS@")) {
      out += fmt::format("local HOLD_CPU_JOBS = {}", options.hold_cpu_jobs);
    } else {
      out += line;
    }
    out += '\n';
  }
  return out;
}

std::string InstallScript(const SlurmSite& site, const SiteFiles& files,
                          const InstallOptions& options, const SiteChange& change) {
  const bool own_lua = !site.lua.empty() && site.lua.find("sharewell1") == std::string::npos;
  std::map<std::string, std::string> texts = site.slurm.files;
  texts.insert(site.gres.files.begin(), site.gres.files.end());
  std::vector<std::string> paths;
  for (const auto& [path, text] : texts) paths.push_back(path);
  std::string out =
      "#!/bin/bash\n"
      "# Sharewell for this Slurm site. Read it, then run it as root on the machine of slurmctld;\n"
      "# copy the folder's files and both .conf to every node, as the site does it.\n"
      "#   bash install.sh          makes the changes below; the files stay as "
      "FILE.before-sharewell\n"
      "#   bash install.sh --undo   brings them back; --clean, after a restart, removes our files\n"
      "# Both refuse while jobs are in the way, and name them; --anyway goes on.\n"
      "set -euo pipefail\n"
      "cron=${SHAREWELL_CRON:-/etc/cron.d/sharewell}\n";
  out += fmt::format("folder={}\nlua={}\nfiles=({})\nnodes={}\nrenamed={}\n\n", options.folder,
                     own_lua ? "sharewell.lua" : "job_submit.lua", fmt::join(paths, " "),
                     HostList(change.nodes), HostList(change.renamed));
  out += PatchText(texts, change);
  out += kInstallShell;
  for (const auto& [setting, file] :
       {std::pair("Prolog", "sharewell-prolog"), std::pair("Epilog", "sharewell-epilog"),
        std::pair("TaskProlog", "sharewell-task-prolog")}) {
    const std::string has = site.slurm.SettingValue(setting);
    if (has.empty() || has.find("sharewell") != std::string::npos) continue;
    out += fmt::format("# {} is the site's own ({}): call {}/{} from it, by hand.\n\n", setting,
                       has, options.folder, file);
  }
  out += LuaText(site, files, options);
  out += FileText(options.folder + "/sharewell-cli-filter.lua", files.cli_filter,
                  "For srun --gres=gpu:1 within jobs; nothing runs it yet (docs/slurm.md, Steps).",
                  "644");
  out += FileText(options.folder + "/sharewell-prolog", files.prolog,
                  "On each node, as root, before a job.", "755");
  out += FileText(options.folder + "/sharewell-epilog", files.epilog,
                  "On each node, as root, after a job.", "755");
  out += FileText(options.folder + "/sharewell-task-prolog", files.task_prolog,
                  "On each node, as the user, before a task.", "755");
  out += FileText(
      options.folder + "/sharewell-watchdog", files.watchdog,
      "Where slurmctld runs: releases held jobs when the server is gone for ten minutes.", "755");
  out += FileText(options.folder + "/sharewell-slurm.conf",
                  fmt::format("HEARTBEAT={}/heartbeat\n", options.state),
                  "What these scripts are told.", "644");
  out += fmt::format(
      "# Runs the watchdog each minute.\ncat > \"$cron\" <<'SHAREWELL_END'\n"
      "* * * * * root SLURM_CONF={0}/slurm.conf {0}/sharewell-watchdog\nSHAREWELL_END\n\n",
      options.folder);
  out += "restart_words\necho 'Then look whether all is well: sharewell slurm check'\n";
  return out;
}

Result<ConfText> ChangedConf(const ConfText& conf, const SiteChange& change) {
  return ReadConf(conf.top, [&](const std::string& path) -> std::optional<std::string> {
    const auto text = conf.files.find(path);
    if (text == conf.files.end()) return std::nullopt;
    const auto edits = change.edits.find(path);
    return edits == change.edits.end() ? text->second : EditedText(text->second, edits->second);
  });
}

}  // namespace sharewell::engine
