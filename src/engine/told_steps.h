// What agents tell of steps, as events of the runs that they are of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/run_events.h"
#include "engine/watched_runs.h"

namespace sharewell::engine {

// `runs`: by job's number, each with a `request` and the `steps` that were told so far. Only what
// is more than those is news.
template <class Runs>
void EmitNewSteps(const std::map<std::int64_t, ToldSteps>& told, Runs& runs,
                  std::vector<RunEvent>& out) {
  for (const auto& [job, news] : told) {
    const auto found = runs.find(job);
    if (found == runs.end()) continue;
    const RunId id = found->second.request.id;
    for (const std::string& document : news.documents) out.push_back(RunTold{id, document, {}});
    if (!news.off.empty()) out.push_back(RunTold{id, {}, news.off});
    if (news.steps <= found->second.steps) continue;
    found->second.steps = news.steps;
    out.push_back(RunProgress{id, news.steps, news.age, news.by_watcher});
  }
}

}  // namespace sharewell::engine
