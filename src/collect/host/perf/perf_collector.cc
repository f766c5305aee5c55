#include "collect/host/perf/perf_collector.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "collect/host/cpu.h"
#include "collect/host/files.h"
#include "collect/host/perf/perf_set.h"
#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"
#include "collect/metrics/job_metrics.h"

namespace sharewell::collect {
namespace {

constexpr int kLookForCpusRounds = 60;
constexpr std::size_t kMostJobThreads = 256;
constexpr std::size_t kMostJobs = 64;
constexpr double kCacheLine = 64;  // bytes

struct PerfMetrics {
  std::array<const core::Metric*, kPerfEvents> counts;
  const core::Metric* cycles_per_instruction;
  const core::Metric* memory_intensity;
  const core::Metric* running;
};

constexpr PerfMetrics kMachinePerf = {{&kPerfInstructions, &kPerfCycles, &kPerfDramLocal,
                                       &kPerfDramRemote, &kPerfLlcReferences, &kPerfLlcMisses},
                                      &kPerfCyclesPerInstruction,
                                      &kMemoryIntensityIndex,
                                      &kPerfRunningRatio};
constexpr PerfMetrics kJobPerf = {{&kJobInstructions, &kJobCycles, &kJobDramLocal, &kJobDramRemote,
                                   &kJobLlcReferences, &kJobLlcMisses},
                                  &kJobCyclesPerInstruction,
                                  &kJobMemoryIntensityIndex,
                                  &kJobPerfRunningRatio};

bool IsDenied(int error) { return error == EACCES || error == EPERM; }

class PerfCollector final : public Collector {
 public:
  PerfCollector(const std::string& root, JobSource* jobs, std::unique_ptr<PerfCounters> counters)
      : files_(root), jobs_(jobs), counters_(std::move(counters)) {
    if (const auto text = files_.Read("/proc/cpuinfo")) processor_ = ParseProcessor(*text);
    processor_.is_virtual = IsVirtualMachine(files_);
    table_ = PerfTableFor(processor_);
    machine_ = std::make_unique<PerfSet>(*counters_, table_);
  }

  std::string_view Name() const override { return "perf"; }
  std::string_view Describe() const override {
    return "instructions, cycles, cache misses, local and remote memory, by the processor's "
           "counters";
  }
  Health Probe() override;
  core::Result<void> Collect(std::vector<core::Reading>& out) override;

 private:
  struct JobCounts {
    std::unique_ptr<PerfSet> set;
    bool seen = false;
  };

  void OpenMachine();
  PerfRefusal Refusal();
  void OpenJob(const RunningJob& job, PerfSet& set);
  void PutSet(const PerfSet& set, const PerfMetrics& metrics, std::string_view job,
              std::vector<core::Reading>& out) const;

  HostFiles files_;
  JobSource* jobs_;
  std::unique_ptr<PerfCounters> counters_;  // outlives the sets
  Processor processor_;
  PerfTable table_;
  std::unique_ptr<PerfSet> machine_;
  std::map<std::string, JobCounts> job_counts_;
  int rounds_ = 0;
};

// All CPUs that are online and not counted yet. When the first refuses, so would the others.
void PerfCollector::OpenMachine() {
  const auto text = files_.Read("/proc/stat");
  if (!text) return;
  CpuStat stat;
  ParseStat(*text, stat);
  for (const auto& [cpu, ticks] : stat.cpus) {
    if (machine_->cpus().contains(cpu)) continue;
    PerfTarget target;
    target.cpu = cpu;
    if (!machine_->Add(target) && machine_->empty()) return;
  }
}

PerfRefusal PerfCollector::Refusal() {
  PerfRefusal refusal;
  refusal.error = machine_->error();
  refusal.is_virtual = processor_.is_virtual;
  PerfSet own(*counters_, table_);
  PerfTarget target;
  target.thread = ::getpid();
  if (!own.Add(target)) refusal.own_error = own.error();
  refusal.in_container = files_.Exists("/.dockerenv") || files_.Exists("/run/.containerenv");
  const auto paranoid = files_.Line("/proc/sys/kernel/perf_event_paranoid");
  const auto level = paranoid ? AsSigned(*paranoid) : std::nullopt;
  refusal.paranoid = static_cast<int>(std::clamp<std::int64_t>(level.value_or(2), -1, 100));
  // Who is refused is not told whether there would be anything to count; the list of devices says.
  const auto devices = files_.Names("/sys/bus/event_source/devices");
  refusal.has_pmu =
      devices.empty() || std::any_of(devices.begin(), devices.end(), [](std::string_view name) {
        return name.starts_with("cpu") || name.starts_with("arm");
      });
  return refusal;
}

Health PerfCollector::Probe() {
  if (machine_->empty()) OpenMachine();
  if (machine_->empty()) return PerfHealth(Refusal());
  std::string what = fmt::format("{} CPUs", machine_->size());
  std::string missing;
  const auto say = [&](PerfEvent event, std::string_view name) {
    if (machine_->Counts(event)) {
      what += fmt::format(", {}", name);
    } else if (table_.codes[event]) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
    }
  };
  say(kEventInstructions, "instructions");
  say(kEventCycles, "cycles");
  say(kEventLlcMisses, table_.llc);
  say(kEventDramLocal, table_.dram);
  if (!table_.codes[kEventLlcMisses]) what += fmt::format("; {}", table_.llc);
  if (missing.empty()) return {Health::State::kWorks, what, ""};
  return {
      Health::State::kPartly,
      fmt::format("{}; not here: {}{}", what, missing,
                  processor_.is_virtual ? " (the host of this virtual machine keeps them)" : ""),
      ""};
}

void PerfCollector::OpenJob(const RunningJob& job, PerfSet& set) {
  // A control group is counted on every CPU, which who may not count CPUs may not either.
  if (!job.cgroup.empty() && !machine_->empty() &&
      files_.Exists(job.cgroup + "/cgroup.controllers")) {
    for (const int cpu : machine_->cpus()) {
      PerfTarget target;
      target.cpu = cpu;
      target.cgroup = files_.Full(job.cgroup);
      if (!set.Add(target)) break;
    }
    if (!set.empty()) return;
  }
  // Threads that these start later are counted with them.
  for (const int pid : job.pids) {
    for (const std::string& name : files_.Names(fmt::format("/proc/{}/task", pid))) {
      const auto thread = AsUnsigned(name);
      if (!thread || *thread == 0 || *thread > (1U << 30)) continue;
      if (set.size() >= kMostJobThreads) return;
      PerfTarget target;
      target.thread = static_cast<int>(*thread);
      if (!set.Add(target) && set.error() != ESRCH) return;
    }
  }
}

void PerfCollector::PutSet(const PerfSet& set, const PerfMetrics& metrics, std::string_view job,
                           std::vector<core::Reading>& out) const {
  for (std::size_t i = 0; i < kPerfEvents; ++i) {
    const auto total = set.Total(static_cast<PerfEvent>(i));
    if (total) Put(out, *metrics.counts[i], *total, {}, job);
  }
  const auto misses = set.Total(kEventLlcMisses);
  if (misses && !job.empty()) {
    Put(out, kJobMemoryTrafficEstimatedBytes, *misses * kCacheLine, {}, job);
  }
  if (const auto ratio = set.RunningRatio()) Put(out, *metrics.running, *ratio, {}, job);
  const auto instructions = set.Added(kEventInstructions);
  if (!instructions || *instructions <= 0) return;
  if (const auto cycles = set.Added(kEventCycles)) {
    Put(out, *metrics.cycles_per_instruction, *cycles / *instructions, {}, job);
  }
  const auto local = set.Added(kEventDramLocal), remote = set.Added(kEventDramRemote);
  // Local alone is no index: only where the processor counts both as one.
  if (!local || (table_.remote_known && !remote)) return;
  const bool split = table_.remote_known;
  const double loads = *local + (split ? *remote : 0);
  Put(out, *metrics.memory_intensity, loads / *instructions * 100,
      split ? "local+remote" : "remote unknown", job);
}

core::Result<void> PerfCollector::Collect(std::vector<core::Reading>& out) {
  if (rounds_++ % kLookForCpusRounds == 0) OpenMachine();
  Unread unread;
  if (machine_->empty()) {
    unread.Add("the processor's counters", IsDenied(machine_->error()) ? EACCES
                                           : machine_->error() == 0    ? ENOENT
                                                                       : ENODEV);
  } else {
    machine_->Read();
    PutSet(*machine_, kMachinePerf, {}, out);
  }
  if (jobs_ == nullptr) return unread.Outcome();
  for (auto& [name, counts] : job_counts_) counts.seen = false;
  for (const RunningJob& job : jobs_->Running()) {
    auto it = job_counts_.find(job.name);
    if (it == job_counts_.end()) {
      if (job_counts_.size() >= kMostJobs || job.pids.empty()) continue;
      it = job_counts_.emplace(job.name, JobCounts{}).first;
      it->second.set = std::make_unique<PerfSet>(*counters_, table_);
      OpenJob(job, *it->second.set);
    }
    it->second.seen = true;
    if (it->second.set->empty()) continue;
    it->second.set->Read();
    PutSet(*it->second.set, kJobPerf, job.name, out);
  }
  std::erase_if(job_counts_, [](const auto& entry) { return !entry.second.seen; });
  return unread.Outcome();
}

}  // namespace

Health PerfHealth(const PerfRefusal& refusal) {
  using State = Health::State;
  const bool counts_own = refusal.own_error == 0;
  const bool exists = counts_own || (refusal.has_pmu && IsDenied(refusal.own_error));
  if (IsDenied(refusal.error) && exists && refusal.paranoid > 0 && !refusal.in_container) {
    return {counts_own ? State::kPartly : State::kAbsent,
            fmt::format("only root may count all CPUs (kernel.perf_event_paranoid is {}); {}",
                        refusal.paranoid,
                        counts_own ? "jobs of your own are counted, in user mode"
                                   : "nor may you count your own jobs"),
            "sudo sysctl kernel.perf_event_paranoid=0"};
  }
  if (IsDenied(refusal.error) && exists) {
    return {counts_own ? State::kPartly : State::kAbsent,
            "this container has no right to count (perf_event_open)",
            "docker run --cap-add=PERFMON --security-opt seccomp=unconfined ..."};
  }
  if (refusal.error == EMFILE || refusal.error == ENFILE) {
    return {State::kAbsent, "there are more counters to open than this process may have files",
            "ulimit -n 65536"};
  }
  if (refusal.error == ENOSYS) {
    return {State::kAbsent, "the kernel was built without perf events", ""};
  }
  if (refusal.error == ENXIO) {
    return {State::kAbsent, "a captured machine has no counters", ""};
  }
  if (refusal.is_virtual) {
    return {State::kAbsent,
            "this virtual machine has no counters (PMU): its host does not pass them on. It is not "
            "a matter of permission",
            ""};
  }
  return {State::kAbsent,
          "the kernel knows no counters (PMU) of this processor. It is not a matter of permission",
          ""};
}

std::unique_ptr<Collector> NewPerfCollector(const std::string& root, JobSource* jobs,
                                            std::unique_ptr<PerfCounters> counters) {
  return std::make_unique<PerfCollector>(root, jobs, std::move(counters));
}

std::unique_ptr<Collector> NewPerfCollector(const std::string& root, JobSource* jobs) {
  return NewPerfCollector(root, jobs, root == "/" ? NewLinuxPerfCounters() : NewNoPerfCounters());
}

}  // namespace sharewell::collect
