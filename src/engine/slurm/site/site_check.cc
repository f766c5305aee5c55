#include "engine/slurm/site/site_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/slurm/read/slurm_read.h"

namespace sharewell::engine {
namespace {

// Stands in each of our files whose rules matter; counted up when older ones should be replaced.
constexpr const char* kSiteRules = "sharewell-rules-2";

using Settings = std::map<std::string, std::string>;

std::string_view TrimmedSite(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string LowerSite(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

template <class Visit>
void EachSiteLine(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = TrimmedSite(line.substr(0, line.find('#')));
    if (!line.empty()) visit(line);
  }
}

std::string SettingOf(const Settings& settings, std::string_view name) {
  for (const auto& [key, value] : settings) {
    if (LowerSite(key) == LowerSite(name)) return value == "(null)" ? "" : value;
  }
  return "";
}

bool HasWord(std::string_view list, std::string_view word) {
  const std::string all = "," + LowerSite(list) + ",";
  return all.find("," + std::string(word) + ",") != std::string::npos;
}

// Gathers what is found; `conf`: what an admin has to edit.
class SiteChecker {
 public:
  SiteChecker(const SlurmSite& site, const std::function<bool(const std::string&)>& knows_model)
      : site_(site), knows_model_(knows_model) {}

  std::vector<SiteFinding> Check() {
    CheckController();
    if (site_.config.empty()) return std::move(findings_);
    CheckAccounting();
    CheckVersion();
    CheckSelection();
    CheckScheduler();
    CheckRequeue();
    CheckPartition();
    if (site_.reached) CheckNodes();
    CheckDevices();
    CheckLua();
    CheckScripts();
    if (site_.watchdog) {
      Good("watchdog", "cron runs it on this machine");
    } else {
      Add(SiteState::kMissing, "watchdog",
          "nothing would release held jobs when the server is gone for good",
          Install() + " writes /etc/cron.d/sharewell");
    }
    Good("agents",
         "jobs share GPUs of nodes where the server hears `sharewell monitor`; with a file as its "
         "store it hears none, and they share by what is predicted alone");
    return std::move(findings_);
  }

 private:
  void Add(SiteState state, std::string name, std::string what, std::string mend) {
    findings_.push_back({state, std::move(name), std::move(what), std::move(mend)});
  }
  // Of one partition, where one was asked about.
  std::string Install() const {
    return "sharewell slurm install --print" +
           (site_.asked_partition.empty() ? "" : " --partition " + site_.asked_partition);
  }
  void Good(std::string name, std::string what) {
    Add(SiteState::kGood, std::move(name), std::move(what), "");
  }
  std::string Has(std::string_view name) const { return SettingOf(site_.config, name); }
  // What to write, and where.
  std::string Write(const std::string& line) const {
    return fmt::format("write {} into {}, then scontrol reconfigure", line,
                       site_.conf.empty() ? "slurm.conf" : site_.conf);
  }

  void CheckController() {
    if (site_.reached) {
      Good("slurmctld", "answers");
    } else if (!site_.conf_there) {
      Add(SiteState::kWrong, "slurmctld",
          fmt::format("Slurm's configuration is not there: {} cannot be read, and Slurm's commands "
                      "then wait a minute each",
                      site_.conf.empty() ? "/etc/slurm/slurm.conf" : site_.conf),
          "export SLURM_CONF=FILE, with the slurm.conf of this cluster; on a machine without Slurm "
          "install its commands first (Debian: slurm-client)");
    } else {
      Add(SiteState::kWrong, "slurmctld", "does not answer: " + site_.unreached,
          "systemctl status slurmctld; scontrol ping");
    }
  }

  void CheckAccounting() {
    const std::string tres = Has("AccountingStorageTRES"), type = Has("AccountingStorageType");
    const bool database = type == "accounting_storage/slurmdbd";
    if (LowerSite(tres).find("gres/") != std::string::npos && !database) {
      Add(SiteState::kDeadly, "accounting",
          fmt::format("AccountingStorageTRES={} without slurmdbd: slurmctld does not start "
                      "(\"slurmdbd is required to run with TRES\")",
                      tres),
          "take gres/... out of AccountingStorageTRES in slurm.conf, or set "
          "AccountingStorageType=accounting_storage/slurmdbd");
    } else if (!database) {
      Add(SiteState::kNote, "accounting",
          "there is no slurmdbd: jobs that ended are known for MinJobAge only, and sacct says "
          "nothing",
          "");
    } else {
      Good("accounting", "slurmdbd keeps what ended");
    }
  }

  void CheckVersion() {
    const std::string version = Has("SLURM_VERSION");
    if (version.empty()) return;
    int major = 0, minor = 0;
    if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2) return;
    if (major * 100 + minor < 2205) {
      Add(SiteState::kWrong, "version",
          fmt::format("Slurm {} has no shards; 22.05 is the first that has", version),
          "install Slurm 22.05 or newer");
    } else if (major * 100 + minor == 2205) {
      Add(SiteState::kNote, "version",
          fmt::format("Slurm {}: a job that was placed once keeps its slots (g0, g1, ...) when it "
                      "moves; with others slurmctld of this version would die on x86_64",
                      version),
          "");
    } else {
      Good("version", "Slurm " + version);
    }
  }

  void CheckSelection() {
    const std::string type = Has("SelectType");
    if (type != "select/cons_tres") {
      Add(SiteState::kWrong, "select",
          fmt::format("SelectType={}: GPUs need cons_tres", type.empty() ? "(not set)" : type),
          "write SelectType=select/cons_tres into slurm.conf and restart slurmctld");
    } else if (LowerSite(Has("SelectTypeParameters")).find("cr_") == std::string::npos) {
      Add(SiteState::kWrong, "select",
          "SelectTypeParameters is not set: a job gets whole nodes, so that nothing is shared",
          "write SelectTypeParameters=CR_Core_Memory into slurm.conf and restart slurmctld");
    } else {
      Good("select", "cons_tres, cores are counted");
    }
    const std::string gres = Has("GresTypes");
    if (HasWord(gres, "gpu") && HasWord(gres, "shard")) {
      Good("GRES", "GresTypes=" + gres);
    } else {
      Add(SiteState::kMissing, "GRES",
          fmt::format("GresTypes={}: shares of GPUs are counted as shards", gres),
          "write GresTypes=gpu,shard into slurm.conf and restart slurmctld and every slurmd");
    }
  }

  void CheckScheduler() {
    const std::string type = Has("SchedulerType");
    if (type == "sched/builtin") {
      Add(SiteState::kNote, "scheduler",
          "sched/builtin: a released job that does not fit blocks all behind it",
          Write("SchedulerType=sched/backfill"));
    } else {
      Good("scheduler", type.empty() ? "sched/backfill" : type);
    }
  }

  void CheckRequeue() {
    if (Has("JobRequeue") == "0") {
      Add(SiteState::kWrong, "requeue", "JobRequeue=0: no job can be evicted or moved",
          Write("JobRequeue=1"));
    }
    const std::string age = Has("MinJobAge");
    int seconds = 300;
    if (std::sscanf(age.c_str(), "%d", &seconds) == 1 && seconds < 60) {
      Add(SiteState::kWrong, "MinJobAge",
          fmt::format("MinJobAge={}: Slurm forgets how a job ended before it was read", seconds),
          Write("MinJobAge=300"));
    }
  }

  void CheckPartition() {
    if (LowerSite(SettingOf(site_.partition, "OverSubscribe")) == "exclusive") {
      Add(SiteState::kWrong, "partition",
          "OverSubscribe=EXCLUSIVE: each job gets whole nodes, so that nothing is shared",
          "take OverSubscribe=EXCLUSIVE out of the PartitionName line, then scontrol reconfigure");
    }
    if (LowerSite(SettingOf(site_.partition, "ExclusiveUser")) == "yes") {
      Add(SiteState::kNote, "partition",
          "ExclusiveUser=YES: jobs of different users never share a node", "");
    }
  }

  void CheckNodes() {
    std::vector<std::string> plain, mixed, unnamed, odd, ready;
    for (const SlurmNode& node : site_.nodes) {
      const auto found = site_.gpus.find(node.name);
      const int gpus = found == site_.gpus.end() ? 0 : found->second;
      if (std::find(node.states.begin(), node.states.end(), "INVAL") != node.states.end() ||
          std::find(node.states.begin(), node.states.end(), "INVALID_REG") != node.states.end()) {
        Add(SiteState::kWrong, "node " + node.name, "Slurm refuses it: " + node.reason,
            "make gres.conf and the Gres= of its NodeName line say the same, then restart slurmd");
      }
      if (gpus == 0 && node.slots.empty()) continue;
      if (node.slots.empty()) {
        plain.push_back(node.name);
        continue;
      }
      if (node.other_gpus > 0) mixed.push_back(node.name);
      std::set<std::string> slots(node.slots.begin(), node.slots.end());
      for (std::size_t i = 0; i < node.slots.size(); ++i) {
        if (slots.count(fmt::format("g{}", i)) == 0) {
          odd.push_back(node.name);
          break;
        }
      }
      if (std::none_of(node.features.begin(), node.features.end(), knows_model_)) {
        unnamed.push_back(node.name);
      }
      ready.push_back(node.name);
    }
    const auto list = [](const std::vector<std::string>& names) {
      return fmt::format("{}", fmt::join(names, ","));
    };
    if (ready.empty() && plain.empty()) {
      Add(SiteState::kMissing, "shards", "no node of the partition has a GPU that Slurm knows",
          "write Gres=gpu:N to the NodeName lines in slurm.conf, then " + Install());
    } else if (ready.empty()) {
      Add(SiteState::kMissing, "shards",
          "no node has slots (typed GPUs with 100 shards each): there is nothing to place jobs on",
          Install() + " writes the lines of slurm.conf and gres.conf");
    } else {
      Good("shards", fmt::format("slots on {}", list(ready)));
      if (!plain.empty()) {
        Add(SiteState::kNote, "shards",
            fmt::format("no slots on {}: plain Slurm alone uses these GPUs", list(plain)),
            Install() + " writes the lines for them too");
      }
    }
    if (!mixed.empty()) {
      Add(SiteState::kWrong, "slots",
          fmt::format("on {} some GPUs have shards and others have none", list(mixed)),
          "give every GPU of the node a type g0, g1, ... and 100 shards, in slurm.conf and "
          "gres.conf");
    }
    if (!odd.empty()) {
      Add(SiteState::kWrong, "slots",
          fmt::format("on {} slots are not named g0, g1, ...: a job that moves between nodes with "
                      "other names is never started again (BadConstraints)",
                      list(odd)),
          "name the types g0, g1, ... on every node, in slurm.conf and gres.conf");
    }
    if (!unnamed.empty()) {
      Add(SiteState::kMissing, "GPU model",
          fmt::format("no feature of {} names a GPU model (sharewell gpus lists them)",
                      list(unnamed)),
          fmt::format("write Feature=MODEL to its NodeName line, or for now: scontrol update "
                      "NodeName={} AvailableFeatures=MODEL",
                      unnamed.front()));
    }
  }

  void CheckDevices() {
    for (const GresLine& line : ParseGresConf(site_.gres_conf)) {
      if (line.auto_detect && !line.type.empty()) continue;
      for (const std::string& file : line.files) {
        const auto found = site_.devices.find(file);
        const auto kind = found == site_.devices.end() ? DeviceKind::kUnknown : found->second;
        if (kind == DeviceKind::kOther) {
          Add(SiteState::kWrong, "device " + file,
              "gres.conf names it, and it is no character device: CUDA_VISIBLE_DEVICES would never "
              "be set",
              "write File=/dev/nvidia0 (with the GPU's number) into gres.conf and restart slurmd");
        } else if (kind == DeviceKind::kNull) {
          Add(SiteState::kWrong, "device " + file,
              "it is /dev/null under another name: with ConstrainDevices=yes jobs lose /dev/null",
              "name the GPU's own device in gres.conf");
        } else if (line.name == "gpu" && (file.back() < '0' || file.back() > '9')) {
          Add(SiteState::kWrong, "device " + file,
              "its name does not end in a number, which Slurm takes for the GPU's index",
              "write File=/dev/nvidia0 (with the GPU's number) into gres.conf and restart slurmd");
        }
      }
    }
  }

  void CheckLua() {
    if (!HasWord(Has("JobSubmitPlugins"), "lua")) {
      Add(SiteState::kMissing, "job_submit.lua",
          "JobSubmitPlugins has no lua: jobs start before they could be placed",
          Install() + " writes the plugin, and JobSubmitPlugins=lua");
    } else if (!site_.conf_there) {
      Add(SiteState::kNote, "job_submit.lua",
          "slurm.conf is not on this machine, so that the file beside it was not looked at", "");
    } else if (site_.lua.empty()) {
      Add(SiteState::kDeadly, "job_submit.lua",
          "JobSubmitPlugins=lua, but there is no job_submit.lua beside slurm.conf: every "
          "submission fails",
          Install() + " writes it");
    } else if (site_.lua.find("sharewell1") == std::string::npos) {
      Add(SiteState::kMissing, "job_submit.lua",
          "it is the site's own, and does not hold jobs for Sharewell",
          Install() + " says how both go together");
    } else if (site_.lua.find(fmt::format("[{}] = true", site_.server_uid)) == std::string::npos) {
      Add(SiteState::kWrong, "job_submit.lua",
          fmt::format("user {} is not among SCHEDULERS: its releases would be refused",
                      site_.server_uid),
          fmt::format("add [{}] = true to SCHEDULERS in job_submit.lua", site_.server_uid));
    } else if (site_.lua.find(kSiteRules) == std::string::npos) {
      Add(SiteState::kWrong, "job_submit.lua",
          "it is of an older version: users can give GPUs to jobs that it does not hold",
          Install() + " writes the new one");
    } else {
      Good("job_submit.lua", "holds jobs for Sharewell");
    }
  }

  void CheckScript(const char* setting, const std::string& text, const char* without) {
    const std::string path = Has(setting);
    if (path.empty()) {
      Add(SiteState::kMissing, setting, without,
          Install() + " writes the script and the line for slurm.conf");
    } else if (text.empty()) {
      Add(SiteState::kNote, setting, path + " was not looked at: it is not on this machine", "");
    } else if (LowerSite(text).find("sharewell") == std::string::npos) {
      Add(SiteState::kMissing, setting,
          fmt::format("{} is the site's own, and does not run ours: {}", path, without),
          "call ours from it: " + Install() + " writes it");
    } else if (text.find(fmt::format("# Sharewell's {}:", setting)) != std::string::npos &&
               text.find(kSiteRules) == std::string::npos &&
               std::string_view(setting) != "Epilog") {
      Add(SiteState::kWrong, setting, path + " is of an older version: it believes forged notes",
          Install() + " writes the new one");
    } else {
      Good(setting, path);
    }
  }

  void CheckScripts() {
    CheckScript("Prolog", site_.prolog, "no MPS daemon is started: jobs take turns on a GPU");
    CheckScript("Epilog", site_.epilog, "MPS daemons are never stopped");
    CheckScript("TaskProlog", site_.task_prolog,
                "jobs are not told their SM share and memory limit");
  }

  const SlurmSite& site_;
  const std::function<bool(const std::string&)>& knows_model_;
  std::vector<SiteFinding> findings_;
};

}  // namespace

std::map<std::string, std::string> ParseSlurmSettings(std::string_view text) {
  std::map<std::string, std::string> out;
  EachSiteLine(text, [&](std::string_view line) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) return;
    std::string_view name = TrimmedSite(line.substr(0, equals));
    // 24.11 shows `Prolog[0]` where 22.05 shows `Prolog`: there may be several.
    if (name.ends_with(']')) name = name.substr(0, name.find('['));
    if (name.empty() || name.find(' ') != std::string_view::npos) return;
    const std::string lower = LowerSite(name);
    if (lower == "nodename" || lower == "partitionname" || lower == "nodeset") return;
    out.insert_or_assign(std::string(name), std::string(TrimmedSite(line.substr(equals + 1))));
  });
  return out;
}

std::vector<GresLine> ParseGresConf(std::string_view text) {
  std::vector<GresLine> out;
  EachSiteLine(text, [&](std::string_view line) {
    GresLine gres;
    bool known = false;
    while (!line.empty()) {
      const auto end = line.find_first_of(" \t");
      const std::string_view word = line.substr(0, end);
      line = end == std::string_view::npos ? std::string_view() : TrimmedSite(line.substr(end));
      const auto equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string key = LowerSite(word.substr(0, equals));
      const std::string_view value = word.substr(equals + 1);
      // A list that cannot be read is none: slurmd itself says what is wrong with it.
      if (key == "nodename") gres.nodes = ExpandHosts(value).value_or(std::vector<std::string>());
      if (key == "file") gres.files = ExpandHosts(value).value_or(std::vector<std::string>());
      if (key == "name") gres.name = value;
      if (key == "type") gres.type = value;
      if (key == "autodetect") gres.auto_detect = LowerSite(value) != "off";
      known = known || key == "name" || key == "autodetect";
    }
    if (known) out.push_back(std::move(gres));
  });
  return out;
}

std::string_view SiteStateWord(SiteState state) {
  switch (state) {
    case SiteState::kGood:
      return "good";
    case SiteState::kNote:
      return "note";
    case SiteState::kMissing:
      return "missing";
    case SiteState::kWrong:
      return "wrong";
    case SiteState::kDeadly:
      break;
  }
  return "deadly";
}

std::vector<SiteFinding> CheckSlurmSite(
    const SlurmSite& site, const std::function<bool(const std::string&)>& knows_model) {
  return SiteChecker(site, knows_model).Check();
}

bool IsReady(const std::vector<SiteFinding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const SiteFinding& f) { return f.state <= SiteState::kNote; });
}

}  // namespace sharewell::engine
