#include "collect/host/traffic/traffic.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "collect/host/scan.h"
#include "collect/host_collectors.h"
#include "collect/metrics/host_metrics.h"
#include "collect/metrics/job_metrics.h"

namespace sharewell::collect {
namespace {

constexpr std::string_view kResctrl = "/sys/fs/resctrl";
constexpr std::string_view kPrefix = "sharewell.";
constexpr std::size_t kMostThreads = 4096;  // of a job, moved in one round

// The sum over the last-level caches of a group; absent: it does not count.
std::optional<double> TotalOf(HostFiles& files, const std::string& group) {
  std::optional<double> sum;
  for (const std::string& domain : files.Names(group + "/mon_data")) {
    if (!domain.starts_with("mon_L3_")) continue;
    const auto bytes = files.Number(fmt::format("{}/mon_data/{}/mbm_total_bytes", group, domain));
    if (!bytes) return std::nullopt;  // "Unavailable", or not counted at all
    sum = sum.value_or(0) + static_cast<double>(*bytes);
  }
  return sum;
}

// A name in the file system, of "job 17".
std::string GroupName(std::string_view job) {
  std::string name(kPrefix);
  for (const char c : CleanName(job)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '-';
  }
  return name;
}

class TrafficCollector final : public Collector {
 public:
  TrafficCollector(const std::string& root, JobSource* jobs, std::unique_ptr<PerfCounters> counters)
      : files_(root), jobs_(jobs), counters_(std::move(counters)) {}
  ~TrafficCollector() override {
    for (const auto& [name, group] : groups_) Remove(group.path);
    for (const Opened& one : controllers_) counters_->Close(one.id);
  }
  TrafficCollector(const TrafficCollector&) = delete;
  TrafficCollector& operator=(const TrafficCollector&) = delete;

  std::string_view Name() const override { return "traffic"; }
  std::string_view Describe() const override {
    return "bytes that the machine's memory moved, and for which job, by resctrl and the memory "
           "controllers";
  }

  Health Probe() override {
    if (TotalOf(files_, std::string(kResctrl))) {
      return {Health::State::kWorks, "of the machine and of jobs, by resctrl (MBM)", ""};
    }
    const auto cpuinfo = files_.Read("/proc/cpuinfo");
    const bool counts = cpuinfo && cpuinfo->find(" cqm_mbm_total") != std::string_view::npos;
    const std::string mend = counts ? "sudo mount -t resctrl resctrl /sys/fs/resctrl" : "";
    OpenControllers();
    if (!controllers_.empty()) {
      return {
          Health::State::kPartly,
          fmt::format("of the machine, by {} counters of its memory controllers; not of jobs: {}",
                      controllers_.size(),
                      counts ? "resctrl is not mounted" : "the processor has no MBM"),
          mend};
    }
    return {Health::State::kAbsent,
            counts ? "the processor can count it (MBM), but resctrl is not mounted"
                   : "neither the processor (MBM) nor its memory controllers count it here",
            mend};
  }

  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    Unread unread;
    const auto all = TotalOf(files_, std::string(kResctrl));
    if (all) Put(out, kMemoryTrafficBytes, *all, "resctrl");
    OpenControllers();
    ReadControllers(out);
    if (!all && controllers_.empty()) unread.Add(kResctrl, ENOENT);
    if (all && jobs_ != nullptr) ReadJobs(out, unread);
    return unread.Outcome();
  }

 private:
  struct Group {
    std::string path;    // from the root
    std::set<int> pids;  // whose threads are in it
    bool seen = false;
  };
  struct Opened {
    int id = -1;
    double bytes = 0;
  };

  void Remove(const std::string& group) const { (void)::rmdir(files_.Full(group).c_str()); }

  void OpenControllers() {
    if (looked_) return;
    looked_ = true;
    for (const ControllerEvent& event : FindControllerEvents(files_)) {
      for (const int cpu : event.cpus) {
        PerfTarget target;
        target.cpu = cpu;
        const PerfOpened opened = counters_->Open({&event.code, 1}, target);
        if (opened.id < 0) continue;
        controllers_.push_back({opened.id, event.bytes});
      }
    }
  }

  void ReadControllers(std::vector<core::Reading>& out) {
    if (controllers_.empty()) return;
    double sum = 0;
    for (const Opened& one : controllers_) {
      PerfCount count;
      if (!counters_->Read(one.id, {&count, 1})) return;  // a part is no sum
      const double part = count.running > 0 ? static_cast<double>(count.enabled) /
                                                  static_cast<double>(count.running)
                                            : 1;
      sum += static_cast<double>(count.value) * part * one.bytes;
    }
    Put(out, kMemoryTrafficBytes, sum, "controllers");
  }

  // Threads that are started later are in their starter's group.
  void PutInto(const Group& group, int pid) {
    const int tasks = ::open(files_.Full(group.path + "/tasks").c_str(), O_WRONLY | O_CLOEXEC);
    if (tasks < 0) return;
    std::size_t moved = 0;
    for (const std::string& thread : files_.Names(fmt::format("/proc/{}/task", pid))) {
      if (!AsUnsigned(thread) || ++moved > kMostThreads) continue;
      [[maybe_unused]] const auto gone = ::write(tasks, thread.data(), thread.size());
    }
    ::close(tasks);
  }

  void ReadJobs(std::vector<core::Reading>& out, Unread& unread) {
    for (auto& [name, group] : groups_) group.seen = false;
    for (const RunningJob& job : jobs_->Running()) {
      Group& group = groups_[job.name];
      group.seen = true;
      if (group.path.empty()) {
        group.path = fmt::format("{}/mon_groups/{}", kResctrl, GroupName(job.name));
        if (::mkdir(files_.Full(group.path).c_str(), 0755) != 0 && errno != EEXIST) {
          const int error = errno;  // ENOSPC: the processor can tell no more groups apart
          unread.Add(group.path, error);
          group.path.clear();
          continue;
        }
      }
      std::set<int> pids(job.pids.begin(), job.pids.end());
      for (const int pid : pids) {
        if (!group.pids.contains(pid)) PutInto(group, pid);
      }
      group.pids = std::move(pids);
      // While its bandwidth is bounded it has a control group, which counts too.
      const std::string bounded = fmt::format("{}/{}", kResctrl, GroupName(job.name));
      if (const auto bytes = TotalOf(files_, files_.Exists(bounded) ? bounded : group.path)) {
        Put(out, kJobMemoryTrafficBytes, *bytes, {}, job.name);
      }
    }
    std::erase_if(groups_, [&](const auto& entry) {
      if (!entry.second.seen && !entry.second.path.empty()) Remove(entry.second.path);
      return !entry.second.seen;
    });
  }

  HostFiles files_;
  JobSource* jobs_;
  std::unique_ptr<PerfCounters> counters_;
  bool looked_ = false;
  std::vector<Opened> controllers_;
  std::map<std::string, Group> groups_;  // by job
};

}  // namespace

std::unique_ptr<Collector> NewTrafficCollector(const std::string& root, JobSource* jobs,
                                               std::unique_ptr<PerfCounters> counters) {
  return std::make_unique<TrafficCollector>(root, jobs, std::move(counters));
}

std::unique_ptr<Collector> NewTrafficCollector(const std::string& root, JobSource* jobs) {
  return NewTrafficCollector(root, jobs,
                             root == "/" ? NewLinuxPerfCounters() : NewNoPerfCounters());
}

}  // namespace sharewell::collect
