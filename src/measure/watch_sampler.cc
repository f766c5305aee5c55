#include "measure/watch_sampler.h"

#include <fmt/format.h>

#include <algorithm>

namespace sharewell::measure {

void StartedJobs::Look(const std::vector<std::unique_ptr<WatchJob>>& jobs) {
  running_.clear();
  for (const auto& job : jobs) {
    if (job->process() == nullptr) continue;
    running_.push_back({job->spec().name, job->process()->Pids(), job->cgroup()});
  }
  std::sort(running_.begin(), running_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
}

WatchSampler::WatchSampler(const WatchOptions& options, collect::JobSource& jobs, WatchWorld& world)
    : options_(options), world_(world) {
  if (!options.collectors) return;
  for (auto& collector : options.collectors(jobs)) {
    if (collector->Probe().state == collect::Health::State::kAbsent) continue;
    Source source;
    source.collector = std::move(collector);
    sources_.push_back(std::move(source));
  }
}

void WatchSampler::Sample(core::Seconds now) {
  core::Batch batch;
  batch.time = world_.Wall();
  for (Source& source : sources_) {
    if (now - source.read < source.collector->Floor()) continue;
    source.read = now;
    ++source.asked;
    if (auto ok = source.collector->Collect(batch.readings); !ok) {
      if (source.failed++ == 0) source.error = ok.error().message;
    }
  }
  series_.Add(now, batch.readings);
  if (options_.sample && !batch.readings.empty()) options_.sample(batch);
}

std::vector<std::string> WatchSampler::Notes() const {
  std::vector<std::string> notes;
  for (const Source& source : sources_) {
    if (source.failed == 0) continue;
    notes.push_back(fmt::format("collector {} failed {} of {} times: {}", source.collector->Name(),
                                source.failed, source.asked, source.error));
  }
  return notes;
}

}  // namespace sharewell::measure
