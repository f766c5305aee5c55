#include "collect/host/jobs_collector.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "collect/host/cgroup.h"
#include "collect/host/files.h"
#include "collect/host/ledger.h"
#include "collect/host/process.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::collect {
namespace {

constexpr double kTicksPerSecond = 100;
// Proportional memory makes the kernel walk all pages of a process: one process a round, each every
// 30 s, and only where that is known to be quick.
constexpr double kProportionalEvery = 30;
constexpr double kProportionalMostSeconds = 0.004;
constexpr double kFirstSecondsPerByte = kProportionalMostSeconds / (256.0 * 1024 * 1024);

struct ProcessMemory {
  std::uint64_t start = 0;
  double resident = 0;
  std::optional<double> proportional = {};
  double read_at = 0;  // when proportional was
  bool seen = false;
};

struct JobState {
  ProcessLedger cpu, faults, read, written;
  std::map<int, ProcessMemory> memory;
  // Where its counters come from, decided at first sight: they must not change in between.
  bool cgroup_cpu = false, cgroup_io = false, any = false;
  bool io_unreadable = false, io_denied = false;        // of one of its processes, in this round
  std::optional<std::pair<double, double>> cpu_before;  // when, and how much
  bool seen = false;
};

double Sum(std::uint64_t a, std::uint64_t b) {
  return static_cast<double>(a) + static_cast<double>(b);
}

class JobsCollector final : public Collector {
 public:
  JobsCollector(const std::string& root, JobSource* jobs, std::function<double()> now)
      : files_(root),
        jobs_(jobs),
        now_(std::move(now)),
        page_(static_cast<double>(::sysconf(_SC_PAGESIZE))) {}

  std::string_view Name() const override { return "jobs"; }
  std::string_view Describe() const override {
    return "CPU time, cores, memory, disk bytes, threads of each job";
  }
  Health Probe() override;
  core::Result<void> Collect(std::vector<core::Reading>& out) override;

 private:
  void CollectJob(const RunningJob& job, JobState& state, std::vector<core::Reading>& out,
                  Unread& unread);
  // Reads the job's processes into its ledgers; how many are alive, and their threads.
  std::pair<int, std::uint64_t> ReadProcesses(const RunningJob& job, JobState& state);
  void ReadProportional(JobState& state, double now);

  HostFiles files_;
  JobSource* jobs_;
  std::function<double()> now_;
  double page_;
  std::map<std::string, JobState> states_;
  double seconds_per_byte_ = kFirstSecondsPerByte;
  bool proportional_read_ = false;  // in this round
};

Health JobsCollector::Probe() {
  if (!files_.Exists("/proc/self/stat") && AllPids(files_).empty()) {
    return {Health::State::kAbsent, "/proc has no processes", "mount -t proc proc /proc"};
  }
  std::string groups = "no control groups";
  if (files_.Exists("/sys/fs/cgroup/cgroup.controllers")) {
    groups = "control groups v2";
    const auto controllers = files_.Line("/sys/fs/cgroup/cgroup.controllers");
    for (const std::string_view needed : {"cpu", "memory", "io"}) {
      if (controllers &&
          (" " + *controllers + " ").find(fmt::format(" {} ", needed)) != std::string::npos) {
        continue;
      }
      groups += fmt::format(", without {}", needed);
    }
  } else if (files_.Exists("/sys/fs/cgroup/memory") || files_.Exists("/sys/fs/cgroup/cpuacct")) {
    groups = "control groups v1 (no pressure of jobs)";
  }
  const std::size_t count = jobs_ == nullptr ? 0 : jobs_->Running().size();
  return {Health::State::kWorks,
          fmt::format("{}; {}", groups,
                      jobs_ == nullptr ? "by processes and groups, once jobs are watched"
                                       : fmt::format("{} jobs now", count)),
          ""};
}

std::pair<int, std::uint64_t> JobsCollector::ReadProcesses(const RunningJob& job, JobState& state) {
  int alive = 0;
  std::uint64_t threads = 0;
  for (ProcessLedger* ledger : {&state.cpu, &state.faults, &state.read, &state.written}) {
    ledger->Begin();
  }
  for (auto& [pid, memory] : state.memory) memory.seen = false;
  state.io_unreadable = state.io_denied = false;
  for (const int pid : job.pids) {
    const auto stat = ReadProcessStat(files_, pid);
    if (!stat) continue;  // it has ended since the list was made
    ++alive;
    threads += stat->threads;
    const double children = Sum(stat->children_user, stat->children_system);
    state.cpu.Add(pid, stat->start, stat->parent, Sum(stat->user, stat->system) + children,
                  children);
    state.faults.Add(pid, stat->start, stat->parent,
                     Sum(stat->major_faults, stat->children_major_faults),
                     static_cast<double>(stat->children_major_faults));
    ProcessMemory& memory = state.memory[pid];
    if (memory.start != stat->start) memory = ProcessMemory{.start = stat->start};
    memory.resident = static_cast<double>(stat->resident_pages) * page_;
    memory.seen = true;
    if (state.cgroup_io) continue;
    const auto text = files_.Read(fmt::format("/proc/{}/io", pid));
    const auto io = text ? ParseProcessIo(*text) : std::nullopt;
    if (io) {
      const auto read = static_cast<double>(io->read_bytes);
      const auto written = static_cast<double>(io->written_bytes);
      state.read.Add(pid, stat->start, stat->parent, read, read);
      state.written.Add(pid, stat->start, stat->parent, written, written);
    } else {
      state.io_unreadable = true;
      state.io_denied = state.io_denied || files_.error() == EACCES || files_.error() == EPERM;
    }
  }
  std::erase_if(state.memory, [](const auto& entry) { return !entry.second.seen; });
  return {alive, threads};
}

void JobsCollector::ReadProportional(JobState& state, double now) {
  for (auto& [pid, memory] : state.memory) {
    if (proportional_read_) return;
    const bool fresh = memory.proportional && now - memory.read_at < kProportionalEvery;
    if (fresh || memory.resident * seconds_per_byte_ > kProportionalMostSeconds) continue;
    if (memory.read_at > 0 && now - memory.read_at < kProportionalEvery) continue;  // refused
    proportional_read_ = true;
    const auto begin = std::chrono::steady_clock::now();
    const auto text = files_.Read(fmt::format("/proc/{}/smaps_rollup", pid));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    memory.proportional = text ? ParsePssBytes(*text) : std::nullopt;
    memory.read_at = std::max(now, 1e-9);
    constexpr double kTelling =
        16.0 * 1024 * 1024;  // below it, opening the file is what takes time
    if (text && memory.resident > kTelling) {
      seconds_per_byte_ += 0.3 * (took.count() / memory.resident - seconds_per_byte_);
    }
  }
}

void JobsCollector::CollectJob(const RunningJob& job, JobState& state,
                               std::vector<core::Reading>& out, Unread& unread) {
  const auto put = [&](const core::Metric& metric, const std::optional<double>& value) {
    if (value) Put(out, metric, *value, {}, job.name);
  };
  CgroupFigures group;
  if (!job.cgroup.empty()) group = ReadCgroup(files_, job.cgroup);
  if (!state.any) {
    state.any = true;
    state.cgroup_cpu = group.cpu_seconds.has_value();
    state.cgroup_io = group.read_bytes.has_value();
  }
  const double now = now_();
  const auto [alive, threads] = ReadProcesses(job, state);
  const double process_cpu = state.cpu.End() / kTicksPerSecond;
  const auto cpu = state.cgroup_cpu ? group.cpu_seconds : std::optional(process_cpu);
  put(kJobCpuSeconds, cpu);
  if (cpu) {
    if (state.cpu_before && now > state.cpu_before->first) {
      const double used = *cpu - state.cpu_before->second;
      if (used >= 0) put(kJobCores, used / (now - state.cpu_before->first));
    }
    state.cpu_before = {now, *cpu};
  }
  put(kJobMajorPageFaults, state.faults.End());
  const double read = state.read.End(), written = state.written.End();
  if (state.cgroup_io) {
    put(kJobReadBytes, group.read_bytes);
    put(kJobWrittenBytes, group.written_bytes);
  } else if (!state.io_unreadable) {
    put(kJobReadBytes, read);
    put(kJobWrittenBytes, written);
  } else if (state.io_denied) {
    unread.Add(fmt::format("disk bytes of job {}", job.name),
               "its processes belong to another user: run as root to see them");
  }
  put(kJobMemoryBytes, group.memory_bytes);
  put(kJobMemoryPeakBytes, group.memory_peak_bytes);
  put(kJobThreads, static_cast<double>(threads));
  put(kJobProcesses, static_cast<double>(alive));
  if (alive == 0) return;

  ReadProportional(state, now);
  double resident = 0;
  std::optional<double> proportional = 0;
  for (const auto& [pid, memory] : state.memory) {
    resident += memory.resident;
    proportional = proportional && memory.proportional
                       ? std::optional(*proportional + *memory.proportional)
                       : std::nullopt;
  }
  put(kJobResidentBytes, resident);
  put(kJobProportionalBytes, proportional);
}

core::Result<void> JobsCollector::Collect(std::vector<core::Reading>& out) {
  Unread unread;
  if (jobs_ == nullptr) return {};
  for (auto& [name, state] : states_) state.seen = false;
  proportional_read_ = false;
  for (const RunningJob& job : jobs_->Running()) {
    JobState& state = states_[job.name];
    state.seen = true;
    CollectJob(job, state, out, unread);
  }
  std::erase_if(states_, [](const auto& entry) { return !entry.second.seen; });
  return unread.Outcome();
}

}  // namespace

std::unique_ptr<Collector> NewJobsCollector(const std::string& root, JobSource* jobs,
                                            std::function<double()> now) {
  return std::make_unique<JobsCollector>(root, jobs, std::move(now));
}

std::unique_ptr<Collector> NewJobsCollector(const std::string& root, JobSource* jobs) {
  return NewJobsCollector(root, jobs, [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  });
}

}  // namespace sharewell::collect
