#include "server/live/job_watch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include "collect/gpu/gpus.h"
#include "collect/job_sources.h"
#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/host_metrics.h"
#include "collect/registry.h"
#include "control/sampling/sampler.h"
#include "core/job/job_label.h"
#include "platform/mutex.h"
#include "server/live/job_track.h"
#include "server/live/stranger_track.h"

namespace sharewell::server {
namespace {

constexpr int kLostAfter = 5;              // looks
constexpr std::size_t kMostRemoved = 100;  // jobs that are remembered after their end

}  // namespace

struct WatchedProcess {
  int pid = 0;
  std::string cgroup;
};

// Which trees there are is told on any thread, and looked up on the watch's.
class ToldJobs final : public collect::JobSource {
 public:
  void Add(std::string name, WatchedProcess process) {
    Emit({std::move(name), std::move(process)});
  }
  void Remove(std::string name) { Emit({std::move(name), std::nullopt}); }
  const std::vector<collect::RunningJob>& Running() override {
    std::vector<Told> told;
    {
      const platform::MutexLock lock(mutex_);
      told.swap(told_);
    }
    for (const auto& [name, process] : told) {
      process ? trees_.Add(name, process->pid, process->cgroup) : trees_.Remove(name);
    }
    return trees_.Running();
  }

 private:
  using Told = std::pair<std::string, std::optional<WatchedProcess>>;
  void Emit(Told told) {
    const platform::MutexLock lock(mutex_);
    std::erase_if(told_, [&](const Told& before) { return before.first == told.first; });
    told_.push_back(std::move(told));
  }

  platform::Mutex mutex_;
  std::vector<Told> told_ SHAREWELL_GUARDED_BY(mutex_);
  collect::TreeJobs trees_;
};

struct JobWatch::Impl {
  explicit Impl(JobWatchOptions chosen) : options(std::move(chosen)) {}

  JobWatchOptions options;
  ToldJobs source;
  std::unique_ptr<control::Sampler> sampler;
  mutable platform::Mutex mutex;
  std::condition_variable_any wake;
  std::map<std::int64_t, JobTrack> running SHAREWELL_GUARDED_BY(mutex);
  // Numbers of those running, by what stands in Reading::job.
  std::map<std::string, std::int64_t> by_label SHAREWELL_GUARDED_BY(mutex);
  // The latest last.
  std::deque<std::pair<std::int64_t, JobTrack>> removed SHAREWELL_GUARDED_BY(mutex);
  std::map<std::string, GpuNow> now SHAREWELL_GUARDED_BY(mutex);  // by instance
  MachineNow machine SHAREWELL_GUARDED_BY(mutex);
  // By instance: looks in a row that found nothing of it.
  std::map<std::string, int> silent SHAREWELL_GUARDED_BY(mutex);
  std::string problem SHAREWELL_GUARDED_BY(mutex);  // the GPUs' collector's own words
  StrangerTrack strangers SHAREWELL_GUARDED_BY(mutex);
  std::jthread thread;  // the last: it uses all of the above

  const WatchedGpu* Find(const std::string& uuid) const {
    const auto it = std::find_if(options.gpus.begin(), options.gpus.end(),
                                 [&](const WatchedGpu& gpu) { return gpu.uuid == uuid; });
    return it == options.gpus.end() ? nullptr : &*it;
  }

  // Who has its GPUs to itself, after somebody came or went.
  void Colocation() SHAREWELL_REQUIRES(mutex) {
    for (auto& [number, track] : running) {
      bool shares = false;
      for (const auto& [other, beside] : running) {
        for (const std::string& gpu : track.gpus()) {
          shares = shares || (other != number && beside.gpus().contains(gpu));
        }
      }
      track.Share(shares);
    }
  }

  void Handle(const core::Batch& batch) {
    const platform::MutexLock lock(mutex);
    const core::Seconds time(static_cast<double>(batch.time) / 1e3);
    for (const core::Reading& reading : batch.readings) {
      if (!reading.job.empty()) {
        const auto it = by_label.find(reading.job);
        if (it != by_label.end()) running.at(it->second).Handle(reading, time);
      } else if (reading.instance.empty()) {
        TakeMachine(reading);
      } else {
        TakeNow(reading);
        for (auto& [number, track] : running) track.Handle(reading, time);
      }
    }
  }

  bool LookAtStrangers(const core::Batch& batch) {
    const platform::MutexLock lock(mutex);
    std::set<std::string> with_jobs;
    for (const auto& [number, track] : running) {
      with_jobs.insert(track.gpus().begin(), track.gpus().end());
    }
    return strangers.Handle(batch, with_jobs);
  }

  // A GPU that was once read and then is not, several times in a row, is lost.
  void CountSilent(const control::CollectorState& state, const core::Batch& batch) {
    if (state.name != "nvml") return;
    if (LookAtStrangers(batch) && options.strangers_changed) options.strangers_changed();
    const platform::MutexLock lock(mutex);
    problem = state.problem;
    for (auto& [instance, looks] : silent) ++looks;
    for (const core::Reading& reading : batch.readings) {
      if (reading.metric == &collect::kGpuMemoryUsed && reading.job.empty()) {
        silent[reading.instance] = 0;
      }
    }
  }

  void TakeMachine(const core::Reading& reading) SHAREWELL_REQUIRES(mutex) {
    if (reading.metric == &collect::kCpuBusyRatio) machine.cpu_busy = reading.value;
    if (reading.metric == &collect::kMemoryTotalBytes) machine.memory = core::Bytes(reading.value);
    if (reading.metric == &collect::kMemoryAvailableBytes) {
      machine.memory_available = core::Bytes(reading.value);
    }
  }

  void TakeNow(const core::Reading& reading) SHAREWELL_REQUIRES(mutex) {
    if (reading.metric == &collect::kGpuBusy) now[reading.instance].busy = reading.value;
    if (reading.metric == &collect::kGpuSm) now[reading.instance].sm = reading.value;
    if (reading.metric == &collect::kGpuMemoryUsed) {
      now[reading.instance].memory_used = core::Bytes(reading.value);
    }
    if (reading.metric == &collect::kGpuPower) {
      now[reading.instance].power = core::Watts(reading.value);
    }
  }

  void Run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const core::Seconds pause = sampler->Step();
      platform::MutexLock lock(mutex);
      const bool resting = running.empty() && strangers.empty();
      const core::Seconds most = resting ? options.resting : pause;
      wake.wait_for(lock, stop, std::chrono::duration<double>(most.value),
                    [&]() SHAREWELL_REQUIRES(mutex) { return resting && !running.empty(); });
    }
  }
};

JobWatch::JobWatch(JobWatchOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  Impl& in = *impl_;
  std::vector<std::unique_ptr<collect::Collector>> collectors;
  if (in.options.collectors) {
    collectors = in.options.collectors(in.source);
  } else {
    collect::CollectorOptions all;
    all.jobs = &in.source;
    all.nvml_library = collect::GivenNvmlLibrary();
    all.dcgm_library = collect::GivenDcgmLibrary();
    collectors = collect::AllCollectors(all);
  }
  std::vector<control::Watched> watched;
  for (auto& collector : collectors) {
    if (collector->Probe().state == collect::Health::State::kAbsent) continue;
    watched.push_back({std::move(collector), in.options.interval});
  }
  const auto take = [&in](const control::CollectorState& state,
                          const std::shared_ptr<const core::Batch>& batch) {
    in.CountSilent(state, *batch);
    in.Handle(*batch);
    if (in.options.sample && !batch->readings.empty()) in.options.sample(batch);
  };
  const auto say = [&in](const std::string& what) {
    if (in.options.log) in.options.log(what);
  };
  in.sampler = std::make_unique<control::Sampler>(std::move(watched),
                                                  std::vector<control::Sampler::Sink>{take}, say);
  in.thread = std::jthread([&in](const std::stop_token& stop) { in.Run(stop); });
}

JobWatch::~JobWatch() {
  impl_->thread.request_stop();
  impl_->thread.join();
}

void JobWatch::Add(std::int64_t number, int pid, const std::string& cgroup,
                   const std::vector<std::string>& gpus) {
  Impl& in = *impl_;
  in.source.Add(core::JobLabel(number), {pid, cgroup});
  std::set<std::string> instances;
  std::string model;
  for (const std::string& uuid : gpus) {
    const WatchedGpu* gpu = in.Find(uuid);
    if (gpu == nullptr) continue;
    if (model.empty()) model = gpu->model;
    if (!gpu->instance.empty()) instances.insert(gpu->instance);
  }
  {
    const platform::MutexLock lock(in.mutex);
    in.running.insert_or_assign(number,
                                JobTrack(std::move(instances), std::move(model), gpus.size()));
    in.by_label.insert_or_assign(core::JobLabel(number), number);
    if (!gpus.empty()) in.Colocation();
  }
  in.wake.notify_all();
}

void JobWatch::Remove(std::int64_t number) {
  Impl& in = *impl_;
  in.source.Remove(core::JobLabel(number));
  const platform::MutexLock lock(in.mutex);
  const auto it = in.running.find(number);
  if (it == in.running.end()) return;
  in.removed.emplace_back(number, it->second);
  if (in.removed.size() > kMostRemoved) in.removed.pop_front();
  const bool on_gpus = !it->second.gpus().empty();
  in.running.erase(it);
  in.by_label.erase(core::JobLabel(number));
  if (on_gpus) in.Colocation();
}

void JobWatch::Step(std::int64_t number) {
  const platform::MutexLock lock(impl_->mutex);
  const auto it = impl_->running.find(number);
  if (it != impl_->running.end()) it->second.Step();
}

std::map<std::string, std::string> JobWatch::Lost() const {
  const Impl& in = *impl_;
  const platform::MutexLock lock(in.mutex);
  std::map<std::string, std::string> lost;
  for (const WatchedGpu& gpu : in.options.gpus) {
    const auto silent = in.silent.find(gpu.instance);
    if (silent == in.silent.end() || silent->second < kLostAfter) continue;
    lost[gpu.uuid] = in.problem.empty() ? "it does not answer any more" : in.problem;
  }
  return lost;
}

core::Profile JobWatch::Seen(std::int64_t number) const {
  const Impl& in = *impl_;
  JobTrack track;
  {
    const platform::MutexLock lock(in.mutex);
    const auto gone = std::find_if(in.removed.rbegin(), in.removed.rend(),
                                   [&](const auto& entry) { return entry.first == number; });
    if (const auto it = in.running.find(number); it != in.running.end()) {
      track = it->second;
    } else if (gone != in.removed.rend()) {
      track = gone->second;
    } else {
      return {};
    }
  }
  return track.Needed();
}

std::optional<core::Bytes> JobWatch::GpuMemoryOf(std::int64_t number) const {
  const platform::MutexLock lock(impl_->mutex);
  const auto it = impl_->running.find(number);
  if (it == impl_->running.end() || !it->second.gpu_memory()) return std::nullopt;
  return core::Bytes(*it->second.gpu_memory());
}

std::vector<control::Stranger> JobWatch::StrangersOn(const std::string& uuid) const {
  const WatchedGpu* gpu = impl_->Find(uuid);
  if (gpu == nullptr || gpu->instance.empty()) return {};
  const platform::MutexLock lock(impl_->mutex);
  return impl_->strangers.On(gpu->instance);
}

GpuNow JobWatch::Now(const std::string& uuid) const {
  const WatchedGpu* gpu = impl_->Find(uuid);
  if (gpu == nullptr || gpu->instance.empty()) return {};
  const platform::MutexLock lock(impl_->mutex);
  const auto it = impl_->now.find(gpu->instance);
  return it == impl_->now.end() ? GpuNow() : it->second;
}

MachineNow JobWatch::Machine() const {
  const platform::MutexLock lock(impl_->mutex);
  return impl_->machine;
}

}  // namespace sharewell::server
