#include "engine/slurm/site/site_install.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

constexpr const char* kWas = "#sharewell-was# ";
constexpr const char* kBegin = "# >>> sharewell >>>";
constexpr const char* kEnd = "# <<< sharewell <<<";

std::string LowerInstall(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::vector<std::string> LinesIn(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

std::vector<std::string> WordsIn(std::string_view line) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : line) {
    if (c == ' ' || c == '\t' || c == '\r') {
      if (!word.empty()) out.push_back(std::exchange(word, ""));
    } else {
      word += c;
    }
  }
  if (!word.empty()) out.push_back(word);
  return out;
}

bool BeginsWithKey(std::string_view line, std::string_view key) {
  const auto words = WordsIn(line);
  return !words.empty() && LowerInstall(words[0]).starts_with(LowerInstall(key) + "=");
}

// Names a node of the partition, or of the site where no partition was given.
bool ConcernsSite(std::string_view line, const SlurmSite& site) {
  if (site.nodes.empty()) return true;
  const auto words = WordsIn(line);
  const auto names = ExpandHosts(words[0].substr(words[0].find('=') + 1));
  if (!names) return false;
  return std::any_of(site.nodes.begin(), site.nodes.end(), [&](const SlurmNode& node) {
    return std::find(names->begin(), names->end(), node.name) != names->end();
  });
}

std::string ListWith(const std::string& list, std::initializer_list<const char*> words) {
  std::string out = list == "(null)" ? "" : list;
  for (const char* word : words) {
    const std::string all = "," + LowerInstall(out) + ",";
    if (all.find("," + std::string(word) + ",") != std::string::npos) continue;
    out += (out.empty() ? "" : ",") + std::string(word);
  }
  return out;
}

std::string SettingIn(const SlurmSite& site, std::string_view name) {
  const auto found = site.config.find(std::string(name));
  return found == site.config.end() || found->second == "(null)" ? "" : found->second;
}

// What is changed in slurm.conf and in gres.conf.
struct SlurmConfChange {
  std::string line;              // the new one; empty: the old one goes
  std::string why;               // what it changes
  std::vector<std::string> old;  // lines that become comments
};

void ChangeSetting(const SlurmSite& site, const std::string& name, const std::string& value,
                   const std::string& why, std::vector<SlurmConfChange>& out) {
  if (SettingIn(site, name) == value) return;
  SlurmConfChange change{name + "=" + value, why, {}};
  for (const std::string& line : LinesIn(site.slurm_conf)) {
    if (BeginsWithKey(line, name)) change.old.push_back(line);
  }
  out.push_back(std::move(change));
}

std::vector<SlurmConfChange> ConfChanges(const SlurmSite& site, const InstallOptions& options,
                                         const ModelNamed& model) {
  std::vector<SlurmConfChange> out;
  ChangeSetting(site, "GresTypes", ListWith(SettingIn(site, "GresTypes"), {"gpu", "shard"}),
                "Shares of GPUs are counted as shards, 100 a GPU.", out);
  ChangeSetting(site, "JobSubmitPlugins", ListWith(SettingIn(site, "JobSubmitPlugins"), {"lua"}),
                "job_submit.lua holds jobs that ask for GPUs until Sharewell places them.", out);
  const auto script = [&](const char* setting, const char* file, const char* why) {
    const std::string has = SettingIn(site, setting);
    if (!has.empty() && has.find("sharewell") == std::string::npos) return;  // the site's own
    ChangeSetting(site, setting, fmt::format("{}/{}", options.folder, file), why, out);
  };
  script("Prolog", "sharewell-prolog", "Starts an MPS daemon on a node where jobs share a GPU.");
  script("Epilog", "sharewell-epilog", "Stops that daemon after the last of them.");
  script("TaskProlog", "sharewell-task-prolog", "Tells each task its SM share and memory limit.");
  const std::string tres = SettingIn(site, "AccountingStorageTRES");
  if (LowerInstall(tres).find("gres/") != std::string::npos &&
      SettingIn(site, "AccountingStorageType") != "accounting_storage/slurmdbd") {
    SlurmConfChange change{"", "Without slurmdbd slurmctld does not start with it.", {}};
    for (const std::string& line : LinesIn(site.slurm_conf)) {
      if (BeginsWithKey(line, "AccountingStorageTRES")) change.old.push_back(line);
    }
    out.push_back(std::move(change));
  }
  for (const std::string& line : LinesIn(site.slurm_conf)) {
    if (!BeginsWithKey(line, "NodeName") || !ConcernsSite(line, site)) continue;
    const std::string changed = NodeLineWithSlots(line, model);
    if (changed.empty()) continue;
    out.push_back({changed,
                   "Each GPU is a slot of its own (g0, g1, ...) with 100 shards; the model is a "
                   "feature.",
                   {line}});
    if (LowerInstall(changed).find("feature=") == std::string::npos) {
      out.back().why += " Add Feature=MODEL: which GPU it is could not be told (sharewell gpus).";
    }
  }
  return out;
}

std::vector<SlurmConfChange> GresChanges(const SlurmSite& site, const ModelNamed& model) {
  std::vector<SlurmConfChange> out;
  std::vector<std::string> old;
  for (const std::string& line : LinesIn(site.gres_conf)) {
    const auto parsed = ParseGresConf(line);
    if (!parsed.empty() && (parsed[0].name == "gpu" || parsed[0].name == "shard")) {
      old.push_back(line);
    }
  }
  for (const std::string& line : LinesIn(site.slurm_conf)) {
    if (!BeginsWithKey(line, "NodeName") || !ConcernsSite(line, site)) continue;
    const std::string changed = NodeLineWithSlots(line, model);
    if (changed.empty()) continue;
    const auto words = WordsIn(changed);
    const std::string names = words[0].substr(words[0].find('=') + 1);
    int gpus = 0;
    for (auto at = changed.find("gpu:g"); at != std::string::npos;
         at = changed.find("gpu:g", at + 1)) {
      ++gpus;
    }
    // Files as the site has them, else as the driver names them.
    std::vector<std::string> files;
    const auto hosts = ExpandHosts(names);
    for (const GresLine& gres : ParseGresConf(site.gres_conf)) {
      if (gres.name != "gpu") continue;
      const bool here = gres.nodes.empty() || (hosts && !hosts->empty() &&
                                               std::find(gres.nodes.begin(), gres.nodes.end(),
                                                         hosts->front()) != gres.nodes.end());
      if (here) files.insert(files.end(), gres.files.begin(), gres.files.end());
    }
    for (int i = 0; i < gpus; ++i) {
      const std::string file = static_cast<std::size_t>(i) < files.size()
                                   ? files[static_cast<std::size_t>(i)]
                                   : fmt::format("/dev/nvidia{}", i);
      out.push_back(
          {fmt::format("NodeName={0} Name=gpu Type=g{1} File={2}", names, i, file), "", {}});
    }
    for (int i = 0; i < gpus; ++i) {
      const std::string file = out[out.size() - static_cast<std::size_t>(gpus)].line;
      out.push_back({fmt::format("NodeName={0} Name=shard Type=g{1} Count=100 {2}", names, i,
                                 file.substr(file.find("File="))),
                     "",
                     {}});
    }
  }
  if (!out.empty()) {
    out.front().why =
        "One line a GPU with the slot's name, and its shards; what AutoDetect finds has no slots.";
    out.front().old = old;
  }
  return out;
}

// Shell that keeps old lines as comments and adds the new ones in a block.
std::string EditText(const std::string& file, const std::vector<SlurmConfChange>& changes,
                     const std::string& name) {
  if (changes.empty()) return fmt::format("# {}: nothing to change.\n\n", name);
  std::string out = fmt::format("# ---- {}\n", name);
  std::string block;
  for (const SlurmConfChange& change : changes) {
    if (!change.why.empty()) out += fmt::format("# {}\n", change.why);
    for (const std::string& old : change.old) out += fmt::format("#   was: {}\n", old);
    if (!change.line.empty()) {
      out += fmt::format("#   now: {}\n", change.line);
      block += change.line + "\n";
    }
  }
  // A second time would leave each node in slurm.conf twice, which slurmctld dies of.
  out += fmt::format(
      "if grep -qsxF -f - {0} <<'SHAREWELL_END'\n{1}SHAREWELL_END\nthen\n"
      "  echo '{0} has these lines already; take them back first: bash install.sh --undo' >&2\n"
      "  exit 1\nfi\n",
      file, block);
  out += fmt::format("touch {0}\ncp -p {0} {0}.before-sharewell\n", file);
  // Whole lines, compared as they are: no pattern of theirs is read as one.
  out += "old=$(mktemp)\ncat > \"$old\" <<'SHAREWELL_END'\n";
  for (const SlurmConfChange& change : changes) {
    for (const std::string& old : change.old) out += old + "\n";
  }
  out += "SHAREWELL_END\n";
  out += fmt::format(
      "awk -v was='{1}' 'NR == FNR {{ gone[$0] = 1; next }} ($0 in gone) {{ print was $0; next }} "
      "{{ print }}' \"$old\" {0}.before-sharewell > {0}\nrm -f \"$old\"\n",
      file, kWas);
  out += fmt::format("cat >> {} <<'SHAREWELL_END'\n{}\n{}{}\nSHAREWELL_END\n\n", file, kBegin,
                     block, kEnd);
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

std::string UndoText(const InstallOptions& options, bool own_lua) {
  return fmt::format(
      "if [ \"${{1:-}}\" = --undo ]; then\n"
      "  # The old lines come back. Our scripts stay until the daemons no longer call them: a "
      "Prolog\n"
      "  # that is not there would drain the nodes.\n"
      "  for file in {0}/slurm.conf {0}/gres.conf; do\n"
      "    [ -e \"$file\" ] || continue\n"
      "    sed -i '/^{1}$/,/^{2}$/d; s/^{3}//' \"$file\"\n"
      "  done\n"
      "  rm -f \"$cron\"\n"
      "  echo 'Now restart slurmctld and every slurmd, then: bash install.sh --clean'\n"
      "  exit 0\n"
      "fi\n"
      "if [ \"${{1:-}}\" = --clean ]; then\n"
      "  # After the restart: jobs that are still held go to plain Slurm, and our files go.\n"
      "  if [ -x {0}/sharewell-watchdog ]; then {0}/sharewell-watchdog --now || true; fi\n"
      "  rm -f {0}/sharewell-prolog {0}/sharewell-epilog {0}/sharewell-task-prolog "
      "{0}/sharewell-watchdog \\\n"
      "    {0}/sharewell-slurm.conf {0}/{4}\n"
      "  exit 0\n"
      "fi\n\n",
      options.folder, kBegin, kEnd, kWas, own_lua ? "sharewell.lua" : "job_submit.lua");
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

std::string NodeLineWithSlots(std::string_view line, const ModelNamed& model) {
  auto words = WordsIn(line);
  std::string name;
  bool feature = false;
  std::optional<std::size_t> at;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string lower = LowerInstall(words[i]);
    if (lower.starts_with("gres=")) at = i;
    if (lower.starts_with("feature=") || lower.starts_with("features=")) feature = true;
  }
  if (!at) return "";
  const auto gres = ParseGres(std::string_view(words[*at]).substr(5));
  if (!gres) return "";
  std::int64_t gpus = 0;
  std::vector<std::string> others;
  for (const SlurmGres& one : *gres) {
    if (one.name == "shard") return "";  // it has slots, or shards that are somebody else's
    if (one.name == "gpu") {
      gpus += one.count;
      if (name.empty()) name = model(one.type);
    } else {
      others.push_back(one.type.empty() ? fmt::format("{}:{}", one.name, one.count)
                                        : fmt::format("{}:{}:{}", one.name, one.type, one.count));
    }
  }
  if (gpus < 1 || gpus > 64) return "";
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < gpus; ++i) all.push_back(fmt::format("gpu:g{}:1", i));
  for (std::int64_t i = 0; i < gpus; ++i) all.push_back(fmt::format("shard:g{}:100", i));
  all.insert(all.end(), others.begin(), others.end());
  words[*at] = fmt::format("Gres={}", fmt::join(all, ","));
  if (!name.empty() && !feature) words.push_back("Feature=" + name);
  if (!name.empty() && feature) {
    for (std::string& word : words) {
      const std::string lower = LowerInstall(word);
      if (lower.starts_with("feature") && lower.find(LowerInstall(name)) == std::string::npos) {
        word += "," + name;
      }
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string InstallScript(const SlurmSite& site, const SiteFiles& files,
                          const InstallOptions& options, const ModelNamed& model) {
  const bool own_lua = !site.lua.empty() && site.lua.find("sharewell1") == std::string::npos;
  std::string out =
      "#!/bin/bash\n"
      "# Sharewell for this Slurm site. Read it, then run it as root on the machine of slurmctld;\n"
      "# copy the folder's files and both .conf to every node, as the site does it.\n"
      "#   bash install.sh          makes the changes below\n"
      "#   bash install.sh --undo   takes them back; --clean, after a restart, removes our files\n"
      "set -euo pipefail\n"
      "cron=${SHAREWELL_CRON:-/etc/cron.d/sharewell}\n\n";
  out += UndoText(options, own_lua);
  out += EditText(options.folder + "/slurm.conf", ConfChanges(site, options, model), "slurm.conf");
  out += EditText(options.folder + "/gres.conf", GresChanges(site, model), "gres.conf");
  for (const auto& [setting, file] :
       {std::pair("Prolog", "sharewell-prolog"), std::pair("Epilog", "sharewell-epilog"),
        std::pair("TaskProlog", "sharewell-task-prolog")}) {
    const std::string has = SettingIn(site, setting);
    if (has.empty() || has.find("sharewell") != std::string::npos) continue;
    out += fmt::format("# {} is the site's own ({}): call {}/{} from it, by hand.\n\n", setting,
                       has, options.folder, file);
  }
  out += LuaText(site, files, options);
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
  out +=
      "echo 'Now restart slurmctld and every slurmd, for GRES are read at their start only:'\n"
      "echo '  systemctl restart slurmctld; systemctl restart slurmd'\n"
      "echo 'then look whether all is well: sharewell slurm check'\n";
  return out;
}

}  // namespace sharewell::engine
