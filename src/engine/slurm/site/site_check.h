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

namespace sharewell::engine {

// `Name = value` or `Name=value` lines, without comments; of a name that stands twice the last. The
// names as they are written; NodeName and PartitionName lines are left out.
std::map<std::string, std::string> ParseSlurmSettings(std::string_view text);

struct GresLine {
  std::vector<std::string> nodes;  // empty: every node
  std::string name, type;          // "gpu", "g0"
  std::vector<std::string> files;  // "/dev/nvidia[0-3]" is four
  bool auto_detect = false;        // the line turns it on

  friend bool operator==(const GresLine&, const GresLine&) = default;
};
std::vector<GresLine> ParseGresConf(std::string_view text);

enum class DeviceKind { kUnknown, kCharacter, kNull, kOther };

struct SlurmSite {
  bool reached = false;     // slurmctld answered
  std::string unreached;    // what was said instead
  std::string conf;         // path of slurm.conf; empty: not known
  bool conf_there = false;  // it could be read here
  std::string slurm_conf, gres_conf, lua, prolog, epilog, task_prolog;  // texts; empty: not there
  std::map<std::string, std::string> config;  // of the running slurmctld, else of slurm.conf
  std::string asked_partition;                // which one was asked about; empty: all
  std::map<std::string, std::string> partition;
  std::vector<SlurmNode> nodes;               // of the partition
  std::map<std::string, int> gpus;            // node -> GPUs that Slurm knows there
  std::map<std::string, DeviceKind> devices;  // files of gres.conf that are on this machine
  bool watchdog = false;                      // cron runs it here
  unsigned server_uid = 0;                    // who runs `sharewell serve`
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
// `knows_model`: whether a node's feature names a GPU model of the catalogue.
std::vector<SiteFinding> CheckSlurmSite(const SlurmSite& site,
                                        const std::function<bool(const std::string&)>& knows_model);
// Nothing is missing, wrong or deadly.
bool IsReady(const std::vector<SiteFinding>& findings);

}  // namespace sharewell::engine
