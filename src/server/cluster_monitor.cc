#include "server/cluster_monitor.h"

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
#include "server/live/job_track.h"
#include "server/live/told_inbox.h"

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
std::string GpuOfSlot(std::string_view uuid) {
  const auto slash = uuid.rfind("/g");
  if (slash == std::string_view::npos) return {};
  return fmt::format("{}/{}", uuid.substr(0, slash), uuid.substr(slash + 2));
}

std::string NodeOfGpu(std::string_view name) {
  const auto slash = name.rfind('/');
  return std::string(slash == std::string_view::npos ? "" : name.substr(0, slash));
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

struct ClusterMonitor::Impl {
  explicit Impl(ClusterMonitorOptions chosen) : options(std::move(chosen)) {}

  struct Watched {
    std::string node;  // its first
    JobTrack track;
    double steps = 0;  // the most that any of its processes told
    // Since when the same jobs are on its GPUs: what was read before is not of these.
    core::UnixMillis since = 0;
    // Where several pods of it are on its node: what each of them told last.
    std::map<const core::Metric*, std::map<std::string, core::Point>> of_pods;
  };
  using Points = std::deque<core::Point>;
  // Of a node, by series: the newest that was taken.
  using Taken = std::map<std::tuple<std::string, std::string, std::string>, core::UnixMillis>;

  const ClusterMonitorOptions options;
  // Of Look alone.
  std::unique_ptr<store::Store> store;
  bool down = false;
  std::map<std::string, Taken> taken;

  ToldInbox inbox;
  mutable platform::Mutex mutex;
  std::condition_variable_any wake;
  std::map<std::int64_t, engine::WatchedRun> running SHAREWELL_GUARDED_BY(mutex);
  // What agents call those, where that does not follow from their numbers and uuids.
  std::map<std::string, std::int64_t> by_name SHAREWELL_GUARDED_BY(mutex);
  std::map<std::string, std::string> agent_gpus SHAREWELL_GUARDED_BY(mutex);  // by uuid
  // Steps by job, then by node and name: those of one run.
  std::map<std::int64_t, std::map<std::string, Points>> steps SHAREWELL_GUARDED_BY(mutex);
  std::map<std::int64_t, Watched> watched SHAREWELL_GUARDED_BY(mutex);
  // They began, and where their GPUs are is not told yet.
  std::map<std::int64_t, core::JobRecord> unplaced SHAREWELL_GUARDED_BY(mutex);
  std::map<std::string, std::set<std::int64_t>> on_node SHAREWELL_GUARDED_BY(mutex);  // of those
  std::deque<std::pair<std::int64_t, JobTrack>> ended SHAREWELL_GUARDED_BY(mutex);
  std::map<std::string, core::Point> sm SHAREWELL_GUARDED_BY(mutex);  // newest, "n1/0"
  std::jthread thread;  // the last: it uses all of the above

  core::Result<void> Read(const std::set<std::string>& nodes, std::vector<NodeReading>& out);
  void TakeSteps(const std::string& who, std::int64_t job, core::Point point)
      SHAREWELL_REQUIRES(mutex);
  std::optional<double> OfAllPods(std::int64_t number, Watched& job, const NodeReading& one)
      SHAREWELL_REQUIRES(mutex);
  void Take(const NodeReading& one) SHAREWELL_REQUIRES(mutex);
  void Begin(const core::JobRecord& job) SHAREWELL_REQUIRES(mutex);
  void Colocation(const std::string& node) SHAREWELL_REQUIRES(mutex);
  void Remove(std::int64_t number) SHAREWELL_REQUIRES(mutex);
  std::optional<std::int64_t> JobNamed(const std::string& name) const SHAREWELL_REQUIRES(mutex) {
    if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
    const auto id = SlurmIdOf(name);
    const auto run = id ? running.find(*id) : running.end();
    // One that has a name of its own goes by that alone.
    return run != running.end() && !run->second.names.empty() ? std::nullopt : id;
  }
  std::optional<ToldInbox::Run> RunNamed(const std::string& name) const SHAREWELL_REQUIRES(mutex) {
    const auto job = JobNamed(name);
    const auto run = job ? running.find(*job) : running.end();
    if (run == running.end()) return std::nullopt;
    return ToldInbox::Run{*job, run->second.since};
  }
  std::string AgentGpu(const std::string& uuid) const SHAREWELL_REQUIRES(mutex) {
    const auto found = agent_gpus.find(uuid);
    return found == agent_gpus.end() ? GpuOfSlot(uuid) : found->second;
  }
};

// What was not taken before, node by node. An error: what was read until then counts, and is not
// read again.
core::Result<void> ClusterMonitor::Impl::Read(const std::set<std::string>& nodes,
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
  return {};
}

// Fewer than before: it was started again.
void ClusterMonitor::Impl::TakeSteps(const std::string& who, std::int64_t job, core::Point point) {
  Points& points = steps[job][who];
  if (!points.empty() && point.value < points.back().value) points.clear();
  points.push_back(point);
  while (points.front().time < point.time - kStepsKept) points.pop_front();
}

// The pods of a job that are on one node are one: what they told at one time is added up. Absent:
// some have not told yet. GPU memory is told by GPU, and is as it is.
std::optional<double> ClusterMonitor::Impl::OfAllPods(std::int64_t number, Watched& job,
                                                      const NodeReading& one) {
  const core::Reading& reading = one.reading;
  const auto run = running.find(number);
  if (run == running.end() || reading.metric == &collect::kJobGpuMemory) return reading.value;
  const std::vector<std::string>& nodes = run->second.nodes;
  const auto pods = std::count(nodes.begin(), nodes.end(), one.node);
  if (pods < 2) return reading.value;
  auto& told = job.of_pods[reading.metric];
  told[reading.job] = {one.time, reading.value};
  double sum = 0;
  std::ptrdiff_t now = 0;
  for (const auto& [pod, point] : told) {
    if (point.time != one.time) continue;
    sum += point.value;
    ++now;
  }
  return now < pods ? std::nullopt : std::optional(sum);
}

void ClusterMonitor::Impl::Take(const NodeReading& one) {
  const core::Reading& reading = one.reading;
  const core::Seconds time(static_cast<double>(one.time) / 1e3);
  if (!reading.job.empty()) {
    const auto job = JobNamed(reading.job);
    if (!job) return;
    if (reading.metric == &collect::kJobSteps) {
      const std::string who = one.node + " " + reading.job;
      if (running.contains(*job)) TakeSteps(who, *job, {one.time, reading.value});
      const auto it = watched.find(*job);
      if (it != watched.end() && reading.value > it->second.steps) {
        it->second.steps = reading.value;
        it->second.track.Step();
      }
      return;
    }
    const auto found = watched.find(*job);
    if (found == watched.end() || found->second.node != one.node) return;
    if (const auto value = OfAllPods(*job, found->second, one)) {
      found->second.track.Handle({reading.metric, reading.instance, reading.job, *value}, time);
    }
    return;
  }
  if (reading.metric == &collect::kGpuSm) sm[reading.instance] = {one.time, reading.value};
  const auto here = on_node.find(one.node);
  if (here == on_node.end()) return;
  for (const std::int64_t number : here->second) {
    Watched& job = watched.at(number);
    if (one.time >= job.since) job.track.Handle(reading, time);
  }
}

// Who has its GPUs to itself, after somebody came or went.
void ClusterMonitor::Impl::Colocation(const std::string& node) {
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

void ClusterMonitor::Impl::Remove(std::int64_t number) {
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

ClusterMonitor::ClusterMonitor(ClusterMonitorOptions options)
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

ClusterMonitor::~ClusterMonitor() {
  impl_->thread.request_stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void ClusterMonitor::Look() {
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
  auto read = in.Read(nodes, readings);
  if (read) {
    read = in.inbox.Read(*in.store, nodes, [&in](const std::string& name) {
      const platform::MutexLock lock(in.mutex);
      return in.RunNamed(name);
    });
  }
  if (!read) {
    in.store.reset();  // opened anew next time
    if (!std::exchange(in.down, true)) {
      in.options.log("what jobs do cannot be read from the store: " + read.error().message);
    }
  } else if (std::exchange(in.down, false)) {
    in.options.log("what jobs do can be read from the store again");
  }
  std::stable_sort(readings.begin(), readings.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  const platform::MutexLock lock(in.mutex);
  for (const NodeReading& one : readings) in.Take(one);
}

std::map<std::int64_t, engine::ToldSteps> ClusterMonitor::Steps(
    const std::map<std::int64_t, engine::WatchedRun>& running) {
  Impl& in = *impl_;
  const core::UnixMillis now = in.options.wall();
  const core::UnixMillis until = now - static_cast<core::UnixMillis>(in.options.behind.value * 1e3);
  std::map<std::int64_t, engine::ToldSteps> told;
  const platform::MutexLock lock(in.mutex);
  in.running = running;
  in.by_name.clear();
  in.agent_gpus.clear();
  for (const auto& [job, run] : running) {
    for (const std::string& name : run.names) in.by_name.emplace(name, job);
    in.agent_gpus.insert(run.gpus.begin(), run.gpus.end());
  }
  const auto began = std::exchange(in.unplaced, {});
  for (const auto& [number, job] : began) in.Begin(job);
  std::erase_if(in.steps, [&](const auto& entry) { return !running.contains(entry.first); });
  for (auto& [job, places] : in.steps) {
    const core::UnixMillis since = running.at(job).since;
    const std::vector<std::string>& names = running.at(job).names;
    std::erase_if(places, [&](const auto& entry) {  // of a pod that it had before
      const std::string name = entry.first.substr(entry.first.find(' ') + 1);
      return !names.empty() && std::find(names.begin(), names.end(), name) == names.end();
    });
    for (const auto& [who, points] : places) {
      const auto after = std::upper_bound(
          points.begin(), points.end(), until,
          [](core::UnixMillis time, const core::Point& p) { return time < p.time; });
      if (after == points.begin() || std::prev(after)->time < since) continue;
      const core::Point& point = *std::prev(after);
      engine::ToldSteps& most = told[job];
      if (point.value <= most.steps) continue;
      most = {point.value, core::Seconds(static_cast<double>(now - point.time) / 1e3)};
    }
  }
  std::erase_if(told, [](const auto& entry) { return entry.second.steps <= 0; });
  in.inbox.GiveOut(running, told);
  return told;
}

void ClusterMonitor::Began(const core::JobRecord& job) {
  Impl& in = *impl_;
  const platform::MutexLock lock(in.mutex);
  in.Begin(job);
}

void ClusterMonitor::Impl::Begin(const core::JobRecord& job) {
  Watched one;
  std::set<std::string> gpus;
  std::size_t count = 0;
  std::string model;
  for (const core::GivenGpu& gpu : job.gpus) {
    std::string name = AgentGpu(gpu.uuid);
    const std::string node = NodeOfGpu(name.empty() ? gpu.uuid : name);
    if (one.node.empty()) one.node = node, model = gpu.model;
    if (node != one.node) continue;
    ++count;
    if (!name.empty()) gpus.insert(std::move(name));
  }
  unplaced.erase(job.number);
  if (one.node.empty()) {  // nothing of it is read but its steps, until it is told where it is
    if (!job.gpus.empty()) unplaced.emplace(job.number, job);
    return;
  }
  one.since = options.wall();
  one.track = JobTrack(gpus, std::move(model), count);
  const std::string node = one.node;
  Remove(job.number);
  watched.emplace(job.number, std::move(one));
  on_node[node].insert(job.number);
  Colocation(node);
}

void ClusterMonitor::Ended(std::int64_t number) {
  Impl& in = *impl_;
  const platform::MutexLock lock(in.mutex);
  in.unplaced.erase(number);
  const auto found = in.watched.find(number);
  if (found == in.watched.end()) return;
  in.ended.emplace_back(number, found->second.track);
  if (in.ended.size() > kMostEnded) in.ended.pop_front();
  in.Remove(number);
}

core::Profile ClusterMonitor::Seen(std::int64_t number) {
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

control::JobReading ClusterMonitor::Now(std::int64_t number, const std::string& gpu) {
  Impl& in = *impl_;
  const core::UnixMillis now = in.options.wall();
  control::JobReading reading;
  const platform::MutexLock lock(in.mutex);
  const auto sm = in.sm.find(in.AgentGpu(gpu));
  if (sm != in.sm.end() && sm->second.time >= now - kStale) reading.sm = sm->second.value;
  const auto found = in.watched.find(number);
  if (found != in.watched.end() && found->second.track.gpu_memory()) {
    reading.gpu_memory = core::Bytes(*found->second.track.gpu_memory());
  }
  return reading;
}

}  // namespace sharewell::server
