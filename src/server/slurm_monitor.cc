#include "server/slurm_monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <optional>
#include <set>
#include <stop_token>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/job_metrics.h"
#include "collect/metrics/metrics.h"
#include "core/result.h"
#include "platform/mutex.h"
#include "server/job_track.h"

namespace sharewell::server {
namespace {

constexpr core::UnixMillis kStale = 15'000;       // a GPU's figure that is older says nothing
constexpr core::UnixMillis kStepsKept = 120'000;  // of a job that runs
constexpr std::size_t kMostEnded = 100;           // jobs that are remembered after their end
constexpr std::string_view kSlurmPrefix = "slurm/";

std::optional<std::int64_t> SlurmIdOf(std::string_view name) {
  if (!name.starts_with(kSlurmPrefix)) return std::nullopt;
  name.remove_prefix(kSlurmPrefix.size());
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return id;
}

// "n1/g0" is GPU 0 of n1's agent: "n1/0". Empty: it is no slot of ours.
std::string AgentGpu(std::string_view uuid) {
  const auto slash = uuid.rfind("/g");
  if (slash == std::string_view::npos) return {};
  return fmt::format("{}/{}", uuid.substr(0, slash), uuid.substr(slash + 2));
}

std::string NodeOfGpu(std::string_view uuid) {
  return std::string(uuid.substr(0, std::min(uuid.rfind('/'), uuid.size())));
}

bool HaveOneInCommon(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& one) { return b.contains(one); });
}

const core::Metric* MetricNamed(const std::string& name) {
  static const auto kAll = [] {
    std::map<std::string_view, const core::Metric*> all;
    for (const core::Metric* metric : collect::AllMetrics()) all.emplace(metric->name, metric);
    return all;
  }();
  const auto found = kAll.find(name);
  return found == kAll.end() ? nullptr : found->second;
}

struct NodeReading {
  core::UnixMillis time = 0;
  std::string node;
  core::Reading reading;  // its instance with the node in front
};

}  // namespace

struct SlurmMonitor::Impl {
  explicit Impl(SlurmMonitorOptions chosen) : options(std::move(chosen)) {}

  struct Watched {
    std::string node;  // its first
    JobTrack track;
    // Since when the same jobs are on its GPUs: what was read before is not of these.
    core::UnixMillis since = 0;
  };
  using Points = std::deque<core::Point>;
  // Of a node, by series: the newest that was taken.
  using Taken = std::map<std::tuple<std::string, std::string, std::string>, core::UnixMillis>;

  const SlurmMonitorOptions options;
  // Of Look alone.
  std::unique_ptr<store::Store> store;
  bool down = false;
  std::map<std::string, Taken> taken;

  mutable platform::Mutex mutex;
  std::condition_variable_any wake;
  std::map<std::int64_t, engine::SlurmRunning> running SHAREWELL_GUARDED_BY(mutex);
  // Steps by job and node, those of one run.
  std::map<std::int64_t, std::map<std::string, Points>> steps SHAREWELL_GUARDED_BY(mutex);
  std::map<std::int64_t, Watched> watched SHAREWELL_GUARDED_BY(mutex);
  std::map<std::string, std::set<std::int64_t>> on_node SHAREWELL_GUARDED_BY(mutex);  // of those
  std::deque<std::pair<std::int64_t, JobTrack>> ended SHAREWELL_GUARDED_BY(mutex);
  std::map<std::string, core::Point> sm SHAREWELL_GUARDED_BY(mutex);  // newest, "n1/0"
  std::jthread thread;  // the last: it uses all of the above

  core::Result<void> Read(const std::set<std::string>& nodes, std::vector<NodeReading>& out);
  void TakeSteps(const std::string& node, std::int64_t job, core::Point point)
      SHAREWELL_REQUIRES(mutex);
  void Take(const NodeReading& one) SHAREWELL_REQUIRES(mutex);
  void Colocation(const std::string& node) SHAREWELL_REQUIRES(mutex);
  void Remove(std::int64_t number) SHAREWELL_REQUIRES(mutex);
};

// What was not taken before, node by node.
core::Result<void> SlurmMonitor::Impl::Read(const std::set<std::string>& nodes,
                                            std::vector<NodeReading>& out) {
  if (!store) {
    auto opened = options.open();
    RETURN_IF_ERROR(opened);
    store = std::move(*opened);
  }
  std::erase_if(taken, [&](const auto& entry) { return !nodes.contains(entry.first); });
  for (const std::string& node : nodes) {
    const auto newest = store->LastMinutes(node);
    RETURN_IF_ERROR(newest);
    Taken before = std::move(taken[node]);
    Taken& now = taken[node] = {};
    for (const store::SeriesPoints& series : *newest) {
      const core::Metric* metric = MetricNamed(series.key.metric);
      if (metric == nullptr || series.points.empty()) continue;
      const auto key = std::tie(series.key.metric, series.key.instance, series.key.job);
      const auto last = before.find(key);
      for (const core::Point& point : series.points) {
        if (last != before.end() && point.time <= last->second) continue;
        core::Reading reading{metric, fmt::format("{}/{}", node, series.key.instance),
                              series.key.job, point.value};
        out.push_back({point.time, node, std::move(reading)});
      }
      now.emplace(key, series.points.back().time);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  return {};
}

// Fewer than before: it was started again.
void SlurmMonitor::Impl::TakeSteps(const std::string& node, std::int64_t job, core::Point point) {
  Points& points = steps[job][node];
  if (!points.empty() && point.value < points.back().value) points.clear();
  points.push_back(point);
  while (points.front().time < point.time - kStepsKept) points.pop_front();
}

void SlurmMonitor::Impl::Take(const NodeReading& one) {
  const core::Reading& reading = one.reading;
  const core::Seconds time(static_cast<double>(one.time) / 1e3);
  if (!reading.job.empty()) {
    const auto job = SlurmIdOf(reading.job);
    if (!job) return;
    if (reading.metric == &collect::kJobSteps) {
      if (running.contains(*job)) TakeSteps(one.node, *job, {one.time, reading.value});
      return;
    }
    const auto found = watched.find(*job);
    if (found != watched.end() && found->second.node == one.node) {
      found->second.track.Take(reading, time);
    }
    return;
  }
  if (reading.metric == &collect::kGpuSm) sm[reading.instance] = {one.time, reading.value};
  const auto here = on_node.find(one.node);
  if (here == on_node.end()) return;
  for (const std::int64_t number : here->second) {
    Watched& job = watched.at(number);
    if (one.time >= job.since) job.track.Take(reading, time);
  }
}

// Who has its GPUs to itself, after somebody came or went.
void SlurmMonitor::Impl::Colocation(const std::string& node) {
  const std::set<std::int64_t>& here = on_node[node];
  for (const std::int64_t number : here) {
    const std::set<std::string>& gpus = watched.at(number).track.gpus();
    bool shares = false;
    for (const std::int64_t other : here) {
      const std::set<std::string>& beside = watched.at(other).track.gpus();
      shares = shares || (other != number && HaveOneInCommon(gpus, beside));
    }
    watched.at(number).track.Share(shares);
  }
  if (here.empty()) on_node.erase(node);
}

void SlurmMonitor::Impl::Remove(std::int64_t number) {
  const auto found = watched.find(number);
  if (found == watched.end()) return;
  const std::string node = found->second.node;
  const std::set<std::string> gpus = found->second.track.gpus();
  watched.erase(found);
  on_node[node].erase(number);
  for (const std::int64_t other : on_node[node]) {
    if (HaveOneInCommon(watched.at(other).track.gpus(), gpus)) {
      watched.at(other).since = options.wall();
    }
  }
  Colocation(node);
}

SlurmMonitor::SlurmMonitor(SlurmMonitorOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {
  if (impl_->options.every.value <= 0) return;
  impl_->thread = std::jthread([this](const std::stop_token& stop) {
    const auto pause = std::chrono::duration<double>(impl_->options.every.value);
    while (!stop.stop_requested()) {
      Look();
      platform::MutexLock lock(impl_->mutex);
      impl_->wake.wait_for(lock, stop, pause, [] { return false; });
    }
  });
}

SlurmMonitor::~SlurmMonitor() {
  impl_->thread.request_stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void SlurmMonitor::Look() {
  Impl& in = *impl_;
  std::set<std::string> nodes;
  {
    const platform::MutexLock lock(in.mutex);
    for (const auto& [job, run] : in.running) nodes.insert(run.nodes.begin(), run.nodes.end());
    for (const auto& [job, one] : in.watched) nodes.insert(one.node);
  }
  nodes.erase("");
  if (nodes.empty()) return;
  std::vector<NodeReading> readings;
  if (const auto read = in.Read(nodes, readings); !read) {
    in.store.reset();  // opened anew next time
    if (!std::exchange(in.down, true)) {
      in.options.say("what jobs do cannot be read from the store: " + read.error().message);
    }
    return;
  }
  if (std::exchange(in.down, false))
    in.options.say("what jobs do can be read from the store again");
  const platform::MutexLock lock(in.mutex);
  for (const NodeReading& one : readings) in.Take(one);
}

std::map<std::int64_t, engine::SlurmSteps> SlurmMonitor::Steps(
    const std::map<std::int64_t, engine::SlurmRunning>& running) {
  Impl& in = *impl_;
  const core::UnixMillis now = in.options.wall();
  const core::UnixMillis until = now - static_cast<core::UnixMillis>(in.options.behind.value * 1e3);
  std::map<std::int64_t, engine::SlurmSteps> told;
  const platform::MutexLock lock(in.mutex);
  in.running = running;
  std::erase_if(in.steps, [&](const auto& entry) { return !running.contains(entry.first); });
  for (const auto& [job, nodes] : in.steps) {
    const core::UnixMillis since = running.at(job).since;
    for (const auto& [node, points] : nodes) {
      const auto after = std::upper_bound(
          points.begin(), points.end(), until,
          [](core::UnixMillis time, const core::Point& p) { return time < p.time; });
      if (after == points.begin() || std::prev(after)->time < since) continue;
      const core::Point& point = *std::prev(after);
      engine::SlurmSteps& most = told[job];
      if (point.value <= most.steps) continue;
      most = {point.value, core::Seconds(static_cast<double>(now - point.time) / 1e3)};
    }
  }
  std::erase_if(told, [](const auto& entry) { return entry.second.steps <= 0; });
  return told;
}

void SlurmMonitor::Began(const core::JobRecord& job) {
  Impl& in = *impl_;
  const core::UnixMillis now = in.options.wall();
  Impl::Watched one;
  std::set<std::string> gpus;
  std::size_t count = 0;
  std::string model;
  for (const core::GivenGpu& gpu : job.gpus) {
    const std::string node = NodeOfGpu(gpu.uuid);
    if (one.node.empty()) one.node = node, model = gpu.model;
    if (node != one.node) continue;
    ++count;
    if (std::string name = AgentGpu(gpu.uuid); !name.empty()) gpus.insert(std::move(name));
  }
  if (one.node.empty()) return;  // nothing of it is read but its steps
  one.since = now;
  one.track = JobTrack(gpus, std::move(model), count);
  const std::string node = one.node;
  const platform::MutexLock lock(in.mutex);
  in.Remove(job.number);
  in.watched.emplace(job.number, std::move(one));
  in.on_node[node].insert(job.number);
  in.Colocation(node);
}

void SlurmMonitor::Ended(std::int64_t number) {
  Impl& in = *impl_;
  const platform::MutexLock lock(in.mutex);
  const auto found = in.watched.find(number);
  if (found == in.watched.end()) return;
  in.ended.emplace_back(number, found->second.track);
  if (in.ended.size() > kMostEnded) in.ended.pop_front();
  in.Remove(number);
}

core::Profile SlurmMonitor::Seen(std::int64_t number) {
  Impl& in = *impl_;
  JobTrack track;
  {
    const platform::MutexLock lock(in.mutex);
    const auto found = in.watched.find(number);
    const auto gone = std::find_if(in.ended.rbegin(), in.ended.rend(),
                                   [&](const auto& entry) { return entry.first == number; });
    if (found != in.watched.end()) {
      track = found->second.track;
    } else if (gone != in.ended.rend()) {
      track = gone->second;
    } else {
      return {};
    }
  }
  return track.Needed();
}

control::JobReading SlurmMonitor::Now(std::int64_t number, const std::string& gpu) {
  Impl& in = *impl_;
  const core::UnixMillis now = in.options.wall();
  control::JobReading reading;
  const platform::MutexLock lock(in.mutex);
  const auto sm = in.sm.find(AgentGpu(gpu));
  if (sm != in.sm.end() && sm->second.time >= now - kStale) reading.sm = sm->second.value;
  const auto found = in.watched.find(number);
  if (found != in.watched.end() && found->second.track.gpu_memory()) {
    reading.gpu_memory = core::Bytes(*found->second.track.gpu_memory());
  }
  return reading;
}

}  // namespace sharewell::server
