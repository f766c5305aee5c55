#include "collect/host/perf/perf_counters.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <utility>

namespace sharewell::collect {
namespace {

// Events that are counted at the same time, or one alone: a leader and what follows it.
struct ColocationModel {
  int leader = -1;
  bool is_group = false;  // how it is read
  std::vector<int> followers = {};
  std::vector<std::size_t> codes = {};  // which they are, the leader first
};

class LinuxPerfCounters final : public PerfCounters {
 public:
  LinuxPerfCounters() = default;
  LinuxPerfCounters(const LinuxPerfCounters&) = delete;
  LinuxPerfCounters& operator=(const LinuxPerfCounters&) = delete;
  ~LinuxPerfCounters() override {
    while (!open_.empty()) Close(open_.begin()->first);
  }

  PerfOpened Open(std::span<const PerfCode> codes, const PerfTarget& target) override {
    PerfOpened opened;
    opened.events.assign(codes.size(), false);
    int group_fd = -1;
    if (!target.cgroup.empty()) {
      group_fd = ::open(target.cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (group_fd < 0) {
        opened.error = errno;
        return opened;
      }
    }
    std::vector<ColocationModel> sets;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      // Counts of inherited events cannot be read as a group (before Linux 6.13).
      const bool join = target.thread < 0 && !sets.empty();
      int fd =
          join ? OpenOne(codes[i], target, group_fd, sets.back().leader, opened.user_only) : -1;
      if (fd >= 0) {
        sets.back().followers.push_back(fd);
        sets.back().codes.push_back(i);
        opened.events[i] = true;
        continue;
      }
      // It does not fit beside the others: it takes turns with them.
      fd = OpenOne(codes[i], target, group_fd, -1, opened.user_only);
      if (fd < 0) {
        opened.error = errno;
        continue;
      }
      sets.push_back(ColocationModel{fd, target.thread < 0, {}, {i}});
      opened.events[i] = true;
    }
    if (group_fd >= 0) ::close(group_fd);
    if (sets.empty()) return opened;
    opened.id = next_++;
    open_.emplace(opened.id, std::move(sets));
    return opened;
  }

  bool Read(int id, std::span<PerfCount> counts) override {
    const auto it = open_.find(id);
    if (it == open_.end()) return false;
    for (const ColocationModel& set : it->second) {
      // As a group: how many, enabled, running, then the values. Else: value, enabled, running.
      std::array<std::uint64_t, 3 + kPerfEvents> buffer{};
      const std::size_t words = 3 + (set.is_group ? set.codes.size() : 0);
      if (words > buffer.size()) return false;
      const ssize_t got = ::read(set.leader, buffer.data(), words * sizeof(std::uint64_t));
      if (got != static_cast<ssize_t>(words * sizeof(std::uint64_t))) return false;
      for (std::size_t i = 0; i < set.codes.size(); ++i) {
        if (set.codes[i] >= counts.size()) return false;
        counts[set.codes[i]] = {buffer[set.is_group ? 3 + i : 0], buffer[1], buffer[2]};
      }
    }
    return true;
  }

  void Close(int id) override {
    const auto it = open_.find(id);
    if (it == open_.end()) return;
    for (const ColocationModel& set : it->second) {
      for (const int fd : set.followers) ::close(fd);
      ::close(set.leader);
    }
    open_.erase(it);
  }

 private:
  static int OpenOne(const PerfCode& code, const PerfTarget& target, int cgroup, int leader,
                     bool& user_only) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = code.type;
    attr.config = code.config;
    attr.read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.exclude_kernel = user_only ? 1 : 0;
    if (target.thread >= 0) {
      attr.inherit = 1;
      attr.read_format &= ~std::uint64_t{PERF_FORMAT_GROUP};
    }
    const unsigned long flags = PERF_FLAG_FD_CLOEXEC | (cgroup >= 0 ? PERF_FLAG_PID_CGROUP : 0UL);
    const int pid = cgroup >= 0 ? cgroup : target.thread;
    while (true) {
      const long fd = ::syscall(SYS_perf_event_open, &attr, pid, target.cpu, leader, flags);
      if (fd >= 0) return static_cast<int>(fd);
      // Who may not see the kernel's work may still see his own (perf_event_paranoid 2).
      const bool denied = errno == EACCES || errno == EPERM;
      if (!denied || attr.exclude_kernel != 0 || target.thread < 0) return -1;
      attr.exclude_kernel = 1;
      user_only = true;
    }
  }

  std::map<int, std::vector<ColocationModel>> open_;
  int next_ = 0;
};

class NoPerfCounters final : public PerfCounters {
 public:
  PerfOpened Open(std::span<const PerfCode> codes, const PerfTarget&) override {
    PerfOpened opened;
    opened.events.assign(codes.size(), false);
    opened.error = ENXIO;
    return opened;
  }
  bool Read(int, std::span<PerfCount>) override { return false; }
  void Close(int) override {}
};

}  // namespace

std::unique_ptr<PerfCounters> NewLinuxPerfCounters() {
  return std::make_unique<LinuxPerfCounters>();
}

std::unique_ptr<PerfCounters> NewNoPerfCounters() { return std::make_unique<NoPerfCounters>(); }

}  // namespace sharewell::collect
