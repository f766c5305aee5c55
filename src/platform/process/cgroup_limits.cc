#include "platform/process/cgroup_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "platform/process/cpu_set.h"

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "sharewell-";
constexpr int kPeriodMicroseconds = 100'000;
constexpr int kRemovals = 25;  // a group whose last process has just gone is busy a little longer

std::string FirstLine(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// 0, or why not.
int WriteValue(const std::string& path, const std::string& value) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const ssize_t n = ::write(file, value.data(), value.size());
  const int error = n < 0 ? errno : 0;
  ::close(file);
  return error;
}

// Whether a process may go in: the rules are many, so it is tried.
bool MayEnter(const std::string& procs) {
  const int file = ::open(procs.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(::write(file, "0", 1) == 1 ? 0 : 1);
  ::close(file);
  int status = 1;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
}

void RemoveGroup(const std::string& folder) {
  for (int i = 0; i < kRemovals; ++i) {
    if (::rmdir(folder.c_str()) == 0 || errno != EBUSY) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Those that a run which was killed has left: only empty ones can be removed.
void RemoveStale(const std::string& parent) {
  std::error_code error;
  std::vector<std::string> stale;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.rfind(kPrefix, 0) != 0) continue;
    const int pid = std::atoi(name.c_str() + std::strlen(kPrefix));
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) stale.push_back(it->path().string());
  }
  for (const std::string& folder : stale) ::rmdir(folder.c_str());
}

std::string GroupName(const std::string& name) {
  static std::atomic<int> count{0};
  std::string plain;
  for (const char c : name.substr(0, 40)) {
    plain += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return fmt::format("{}{}-{}-{}", kPrefix, ::getpid(), ++count, plain);
}

// Controller to our group's path, by /proc/self/cgroup; "" is v2's.
std::map<std::string, std::string> OwnGroups(const std::string& root) {
  std::map<std::string, std::string> paths;
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t a = line.find(':'), b = line.find(':', a + 1);
    if (a == line.npos || b == line.npos) continue;
    std::string names = line.substr(a + 1, b - a - 1) + ",";
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = names.find(',', at);
      paths[names.substr(at, end - at)] = line.substr(b + 1);
      at = end + 1;
    }
  }
  return paths;
}

struct Wanted {
  const char* controller;
  std::string what;                                         // for messages
  std::vector<std::pair<std::string, std::string>> v2, v1;  // files and values
};

std::vector<Wanted> WantedBy(const CgroupLimits& limits) {
  std::vector<Wanted> wanted;
  if (limits.cpus) {
    const std::string cpus = FormatCpus(*limits.cpus);
    wanted.push_back({"cpuset",
                      "CPU set (its affinity is set, which the job may change)",
                      {{"cpuset.cpus", cpus}},
                      {{"cpuset.cpus", cpus}}});
  }
  if (limits.cpu_time) {
    const auto quota =
        std::max(1000LL, static_cast<long long>(*limits.cpu_time * kPeriodMicroseconds));
    wanted.push_back({"cpu",
                      "CPU time",
                      {{"cpu.max", fmt::format("{} {}", quota, kPeriodMicroseconds)}},
                      {{"cpu.cfs_period_us", fmt::format("{}", kPeriodMicroseconds)},
                       {"cpu.cfs_quota_us", fmt::format("{}", quota)}}});
  }
  if (limits.memory) {
    const std::string bytes = fmt::format("{:.0f}", limits.memory->value);
    wanted.push_back(
        {"memory", "host memory", {{"memory.max", bytes}}, {{"memory.limit_in_bytes", bytes}}});
  }
  return wanted;
}

// 0 or the first error.
int WriteAllValues(const std::string& folder,
                   const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [file, value] : values) {
    if (const int error = WriteValue(folder + "/" + file, value); error != 0) return error;
  }
  return 0;
}

struct Made {
  std::string folder;
  std::string why;  // where there is none
};

// A v2 group with all the controllers, below our own or, since a group with processes in it can
// give no controllers to its children, beside it.
Made MakeV2(const std::string& mount, const std::string& own, const std::string& name,
            const std::vector<Wanted>& wanted) {
  std::string why = "the group cannot be made";
  for (const fs::path& parent : {fs::path(mount + own), fs::path(mount + own).parent_path()}) {
    if (!fs::exists(parent / "cgroup.procs")) continue;
    RemoveStale(parent.string());
    // Also what only counts: a job's own memory and disk figures come from its group.
    for (const char* controller : {"cpuset", "cpu", "memory", "io"}) {
      WriteValue((parent / "cgroup.subtree_control").string(), fmt::format("+{}", controller));
    }
    const std::string folder = (parent / name).string();
    if (::mkdir(folder.c_str(), 0755) != 0) {
      why = std::strerror(errno);
      continue;
    }
    const std::string given = FirstLine(folder + "/cgroup.controllers") + " ";
    const bool all = std::all_of(wanted.begin(), wanted.end(), [&](const Wanted& want) {
      return (" " + given).find(fmt::format(" {} ", want.controller)) != given.npos;
    });
    if (all && MayEnter(folder + "/cgroup.procs")) return {folder, {}};
    why = all ? "no process may enter it" : "its controllers are not given to us";
    RemoveGroup(folder);
  }
  return {{}, why};
}

Made MakeV1(const std::string& base, const std::string& own, const std::string& name,
            const Wanted& want) {
  for (const std::string& mount : {base + "/" + want.controller, base + "/cpu,cpuacct"}) {
    if (mount.find(want.controller) == mount.npos) continue;
    // In a container our path may name a folder that only the host sees.
    for (const std::string& parent : {mount + own, mount}) {
      if (!fs::exists(parent + "/cgroup.procs")) continue;
      RemoveStale(parent);
      const std::string folder = parent + "/" + name;
      if (::mkdir(folder.c_str(), 0755) != 0) return {{}, std::strerror(errno)};
      if (std::string_view(want.controller) == "cpuset") {
        WriteValue(folder + "/cpuset.mems", FirstLine(parent + "/cpuset.mems"));
      }
      const int error = WriteAllValues(folder, want.v1);
      if (error == 0 && MayEnter(folder + "/cgroup.procs")) return {folder, {}};
      RemoveGroup(folder);
      return {{}, error != 0 ? std::strerror(error) : "no process may enter it"};
    }
  }
  return {{}, "this kernel has no such controller mounted"};
}

}  // namespace

std::unique_ptr<Cgroup> Cgroup::Make(const std::string& name, const CgroupLimits& limits,
                                     const std::string& root) {
  std::unique_ptr<Cgroup> group(new Cgroup());
  const auto wanted = WantedBy(limits);
  if (wanted.empty()) return group;
  const std::string base = root == "/" ? "/sys/fs/cgroup" : root + "/sys/fs/cgroup";
  const auto own = OwnGroups(root == "/" ? "" : root);
  const auto path_of = [&](const std::string& controller) {
    const auto it = own.find(controller);
    return it == own.end() || it->second == "/" ? std::string() : it->second;
  };
  const std::string unique = GroupName(name);
  const auto miss = [&](const Wanted& want, const std::string& why) {
    group->missing_.push_back(
        fmt::format("{} not bounded by a control group: {}; as root, or with `systemd-run --user "
                    "--scope -p Delegate=yes`, it can be",
                    want.what, why));
  };
  if (fs::exists(base + "/cgroup.controllers")) {
    const Made made = MakeV2(base, path_of(""), unique, wanted);
    for (const Wanted& want : wanted) {
      const int error = made.folder.empty() ? 0 : WriteAllValues(made.folder, want.v2);
      if (made.folder.empty() || error != 0) {
        miss(want, error != 0 ? std::strerror(error) : made.why);
      }
    }
    if (made.folder.empty()) return group;
    group->folders_ = {made.folder};
    group->folder_ = made.folder;
  } else {
    for (const Wanted& want : wanted) {
      const Made made = MakeV1(base, path_of(want.controller), unique, want);
      if (made.folder.empty()) {
        miss(want, made.why);
      } else {
        group->folders_.push_back(made.folder);
      }
    }
  }
  for (const std::string& folder : group->folders_) {
    group->procs_.push_back(folder + "/cgroup.procs");
  }
  return group;
}

Cgroup::~Cgroup() {
  for (const std::string& folder : folders_) RemoveGroup(folder);
}

}  // namespace sharewell::platform
