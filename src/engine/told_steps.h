// What agents tell of steps, as events of the runs that they are of.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/runner.h"
#include "engine/watched_runs.h"

namespace sharewell::engine {

// `runs`: by job's number, each with a `request` and the `steps` that were told so far. Only what
// is more than those is news.
template <class Runs>
void TellNewSteps(const std::map<std::int64_t, ToldSteps>& told, Runs& runs,
                  std::vector<RunEvent>& out) {
  for (const auto& [job, news] : told) {
    const auto found = runs.find(job);
    if (found == runs.end() || news.steps <= found->second.steps) continue;
    found->second.steps = news.steps;
    RunEvent event;
    event.kind = RunEvent::Kind::kProgress;
    event.id = found->second.request.id;
    event.steps = news.steps;
    event.age = news.age;
    out.push_back(std::move(event));
  }
}

}  // namespace sharewell::engine
