// New ids for the jobs that the engine knows.
#include <utility>

#include "core/result.h"
#include "engine/live/live_runs.h"

namespace sharewell::engine {

using core::JobId;

// Whoever is spoken of anywhere has an entry. One without a request is nobody's: a plan has named
// what keeps a GPU from being used, and nothing more will be said of it.
void LiveRuns::MarkStaying(std::vector<bool>& stays) const {
  for (const auto& [id, job] : jobs_) {
    if (job.request.id.job != 0) stays[id.index()] = true;
  }
  for (const JobId id : known_over_) stays[id.index()] = true;
}

void LiveRuns::Renumber(const core::Renumbering& ids) {
  const auto all = [&](auto& list) {
    for (JobId& id : list) {
      id = ids.Of(id);
      SHAREWELL_CHECK(id.valid());
    }
  };
  std::map<JobId, Entry> jobs;
  for (auto& [id, job] : jobs_) {
    if (const JobId now = ids.Of(id); now.valid())
      jobs.emplace_hint(jobs.end(), now, std::move(job));
  }
  jobs_ = std::move(jobs);
  std::set<JobId> live;
  for (const JobId id : live_) live.insert(live.end(), ids.Of(id));
  live_ = std::move(live);
  for (auto& [run, id] : runs_) id = ids.Of(id);
  for (auto& here : on_gpu_) all(here);
  for (auto* list : {&known_over_, &starts_, &finished_, &failed_, &out_of_memory_, &requeued_}) {
    all(*list);
  }
  for (PausedJob& paused : paused_) paused.job = ids.Of(paused.job);
  for (Ended& end : ended_) {
    if (end.job.valid()) end.job = ids.Of(end.job);
  }
}

}  // namespace sharewell::engine
