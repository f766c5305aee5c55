#include "engine/live/live_table.h"

#include <algorithm>
#include <utility>

#include "engine/live/staying_id.h"

namespace sharewell::engine {

using core::GpuId;
using core::JobId;

JobEntry* LiveTable::Find(JobId id) {
  const auto found = jobs.find(id);
  return found == jobs.end() ? nullptr : &found->second;
}

JobEntry* LiveTable::OfRun(RunId id) {
  const auto found = runs.find(id);
  return found == runs.end() ? nullptr : &jobs.at(found->second);
}

void LiveTable::Enter(JobId id, const Attempt& run) {
  for (const GpuId gpu : run.gpus) on_gpu[gpu.index()].push_back(id);
  Disturb(run.gpus);
}

void LiveTable::Leave(JobId id, const Attempt& run) {
  for (const GpuId gpu : run.gpus) std::erase(on_gpu[gpu.index()], id);
  Disturb(run.gpus);
}

void LiveTable::Disturb(const std::vector<GpuId>& gpus) {
  for (const GpuId gpu : gpus) {
    for (const JobId id : on_gpu[gpu.index()]) jobs[id].work.Disturb();
  }
}

bool LiveTable::IsBeingLeft(const std::vector<GpuId>& gpus) const {
  return std::any_of(gpus.begin(), gpus.end(), [&](GpuId gpu) {
    const auto& here = on_gpu[gpu.index()];
    return std::any_of(here.begin(), here.end(),
                       [&](JobId other) { return !jobs.at(other).Runs(); });
  });
}

// One without a request is nobody's: a plan has named what keeps a GPU from being used, and nothing
// more will be said of it.
void LiveTable::MarkStaying(std::vector<bool>& stays) const {
  for (const auto& [id, job] : jobs) {
    if (job.request.id.job != 0) stays[id.index()] = true;
  }
  for (const JobId id : known_over) stays[id.index()] = true;
}

void LiveTable::Renumber(const core::Renumbering& ids) {
  std::map<JobId, JobEntry> staying;
  for (auto& [id, job] : jobs) {
    const JobId now = ids.Of(id);
    if (now.valid()) staying.emplace_hint(staying.end(), now, std::move(job));
  }
  jobs = std::move(staying);
  std::set<JobId> still_live;
  for (const JobId id : live) still_live.insert(still_live.end(), ids.Of(id));
  live = std::move(still_live);
  for (auto& [run, id] : runs) id = ids.Of(id);
  for (auto& here : on_gpu) {
    for (JobId& id : here) id = StayingId(ids, id);
  }
  for (auto* list : {&known_over, &starts}) {
    for (JobId& id : *list) id = StayingId(ids, id);
  }
}

}  // namespace sharewell::engine
