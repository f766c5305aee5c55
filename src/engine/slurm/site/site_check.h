// What a Slurm site lacks for Sharewell, has wrong, or has that would make Slurm die: from texts
// alone (`scontrol show config`, slurm.conf, gres.conf, the scripts), so that every finding can be
// tried in a test. Pure; any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/slurm/read/slurm_state.h"
#include "engine/slurm/site/conf_lines.h"
#include "engine/slurm/site/slurm_limits.h"

namespace sharewell::engine {

// `Name = value` lines of `scontrol show config`; of a name that stands twice the last.
std::map<std::string, std::string> ParseSlurmSettings(std::string_view text);
// The same of a slurm.conf: its settings of the whole cluster, by their names as they are written.
std::map<std::string, std::string> SettingsOf(const ConfText& conf);

struct GresLine {
  std::vector<std::string> nodes;  // empty: every node
  std::string name, type;          // "gpu", "g0"
  std::vector<std::string> files;  // "/dev/nvidia[0-3]" is four
  bool auto_detect = false;        // the line turns it on

  friend bool operator==(const GresLine&, const GresLine&) = default;
};
std::vector<GresLine> GresLinesOf(const ConfText& gres);

enum class DeviceKind { kUnknown, kCharacter, kNull, kOther };

struct SlurmSite {
  bool reached = false;   // slurmctld answered
  std::string unreached;  // what was said instead
  std::string conf;       // path of slurm.conf; empty: not known
  ConfText slurm, gres;   // as they lie here, with what they include; no files: not there
  std::string
      unreadable;  // why they could not be read though slurm.conf is there, with file and line
  std::string lua, prolog, epilog, task_prolog;  // texts; empty: not there
  std::map<std::string, std::string> config;     // of the running slurmctld, else of slurm.conf
  std::string asked_partition;                   // which one was asked about; empty: all
  // Of the running slurmctld, by name: what `scontrol show partition` says.
  std::map<std::string, std::map<std::string, std::string>> partitions;
  std::vector<SlurmNode> nodes;                   // of the partition
  std::map<std::string, int> gpus;                // node -> GPUs that Slurm knows there
  std::map<std::string, DeviceKind> devices;      // files of gres.conf that are on this machine
  std::optional<std::vector<SlurmLimit>> limits;  // on GPUs; absent: not known
  bool watchdog = false;                          // cron runs it here
  unsigned server_uid = 0;                        // who runs `sharewell serve`
  bool serves_slurm = true;                       // that is root or SlurmUser

  bool conf_there() const { return !slurm.files.empty(); }
};

enum class SiteState { kGood, kNote, kMissing, kWrong, kDeadly };
std::string_view SiteStateWord(SiteState state);

struct SiteFinding {
  SiteState state = SiteState::kGood;
  std::string name;  // "shards", "job_submit.lua"
  std::string what;  // what is there, or what happens because it is not
  std::string mend;  // a command, or the line to write and where; empty: nothing to do

  friend bool operator==(const SiteFinding&, const SiteFinding&) = default;
};
// Whether a node's feature names a GPU model of the catalogue.
using KnowsModel = std::function<bool(const std::string&)>;

std::vector<SiteFinding> CheckSlurmSite(const SlurmSite& site, const KnowsModel& knows_model);
// Nothing is missing, wrong or deadly.
bool IsReady(const std::vector<SiteFinding>& findings);

// Parts of CheckSlurmSite: nodes, slots and devices; accounting, limits and prices of GPUs; what is
// set for the partition and beside it.
std::vector<SiteFinding> CheckSiteNodes(const SlurmSite& site, const KnowsModel& knows_model);
std::vector<SiteFinding> CheckSiteAccounts(const SlurmSite& site);
std::vector<SiteFinding> CheckSitePartitions(const SlurmSite& site);
// A setting of the running slurmctld, else of slurm.conf; empty: not set.
std::string SiteSettingOf(const SlurmSite& site, std::string_view name);
// "sharewell slurm install --print --partition gpu"
std::string InstallCommand(const SlurmSite& site);
// The order in which a change of GRES comes into force without a node being drained.
inline constexpr std::string_view kRestartOrder =
    "systemctl stop slurmctld; on every node systemctl restart slurmd; systemctl start slurmctld";

}  // namespace sharewell::engine
