// Runs of a cluster as the agents on its nodes (`sharewell monitor`) see them, and what those tell
// of their steps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/units.h"

namespace sharewell::engine {

struct WatchedRun {
  core::UnixMillis since = 0;      // what was counted before is of an earlier run
  std::vector<std::string> nodes;  // of each of its names, where it has some
  // What agents call the job ("pod/UID"), and its GPUs by uuid ("n1/0"). Empty: Slurm's names,
  // which say it themselves ("slurm/17", "n1/g0").
  std::vector<std::string> names = {};
  std::map<std::string, std::string> gpus = {};
};
struct ToldSteps {
  double steps = 0;         // 0: none yet
  core::Seconds age{};      // so long ago there were so many
  bool by_watcher = false;  // counted from inside of the job
  // What its watcher told and was not given out before, as RunTold has it.
  std::vector<std::string> documents = {};
  std::string off = {};
};
// Steps so far in the present run, of those jobs that tell of any; told with all that run. It must
// not wait.
using StepsOfRuns = std::function<std::map<std::int64_t, ToldSteps>(
    const std::map<std::int64_t, WatchedRun>& running)>;

}  // namespace sharewell::engine
