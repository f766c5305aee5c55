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
constexpr const char* kPluginRules = "sharewell-rules-3";

std::string_view TrimmedSite(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
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

bool HasWord(std::string_view list, std::string_view word) {
  const std::string all = "," + LowerConf(list) + ",";
  return all.find("," + std::string(word) + ",") != std::string::npos;
}

// Gathers what is found; `conf`: what an admin has to edit.
class SiteChecker {
 public:
  SiteChecker(const SlurmSite& site, const KnowsModel& knows_model)
      : site_(site), knows_model_(knows_model) {}

  std::vector<SiteFinding> Check() {
    CheckController();
    if (site_.config.empty()) return std::move(findings_);
    Append(CheckSiteAccounts(site_));
    CheckVersion();
    CheckSelection();
    CheckScheduler();
    CheckRequeue();
    Append(CheckSitePartitions(site_));
    Append(CheckSiteNodes(site_, knows_model_));
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
  void Append(std::vector<SiteFinding> more) {
    findings_.insert(findings_.end(), more.begin(), more.end());
  }
  std::string Install() const { return InstallCommand(site_); }
  void Good(std::string name, std::string what) {
    Add(SiteState::kGood, std::move(name), std::move(what), "");
  }
  std::string Has(std::string_view name) const { return SiteSettingOf(site_, name); }
  // What to write, and where.
  std::string Write(const std::string& line) const {
    return fmt::format("write {} into {}, then scontrol reconfigure", line,
                       site_.conf.empty() ? "slurm.conf" : site_.conf);
  }

  void CheckController() {
    if (site_.reached) {
      Good("slurmctld", "answers");
    } else if (!site_.conf_there() && site_.unreadable.empty()) {
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
    if (!site_.unreadable.empty()) {
      Add(SiteState::kWrong, "slurm.conf", site_.unreadable,
          "mend that line, then scontrol reconfigure");
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
    } else if (LowerConf(Has("SelectTypeParameters")).find("cr_") == std::string::npos) {
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
          "write GresTypes=gpu,shard into slurm.conf, then " + std::string(kRestartOrder));
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

  void CheckLua() {
    if (!HasWord(Has("JobSubmitPlugins"), "lua")) {
      Add(SiteState::kMissing, "job_submit.lua",
          "JobSubmitPlugins has no lua: jobs start before they could be placed",
          Install() + " writes the plugin, and JobSubmitPlugins=lua");
    } else if (!site_.conf_there()) {
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
    } else if (site_.lua.find(kPluginRules) == std::string::npos) {
      Add(SiteState::kWrong, "job_submit.lua",
          "it is of an older version: a job that no node could run waits for ever, and the server "
          "may overwrite a comment",
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
    } else if (LowerConf(text).find("sharewell") == std::string::npos) {
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
  const KnowsModel& knows_model_;
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
    out.insert_or_assign(std::string(name), std::string(TrimmedSite(line.substr(equals + 1))));
  });
  return out;
}

std::map<std::string, std::string> SettingsOf(const ConfText& conf) {
  std::map<std::string, std::string> out;
  for (const ConfLine& line : conf.lines) {
    if (IsConfRecord(line.words.front().key)) continue;
    for (const ConfWord& word : line.words) out[word.key] = word.value;
  }
  return out;
}

std::string SiteSettingOf(const SlurmSite& site, std::string_view name) {
  for (const auto& [key, value] : site.config) {
    if (SameConfWord(key, name)) return value == "(null)" ? "" : value;
  }
  return "";
}

std::string InstallCommand(const SlurmSite& site) {
  return "sharewell slurm install --print" +
         (site.asked_partition.empty() ? "" : " --partition " + site.asked_partition);
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

std::vector<SiteFinding> CheckSlurmSite(const SlurmSite& site, const KnowsModel& knows_model) {
  return SiteChecker(site, knows_model).Check();
}

bool IsReady(const std::vector<SiteFinding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const SiteFinding& f) { return f.state <= SiteState::kNote; });
}

}  // namespace sharewell::engine
