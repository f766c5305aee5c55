#include "platform/process/cgroup_limits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "platform/process/cgroup_home.h"
#include "platform/process/cpu_set.h"
#include "platform/process/process_handle.h"

namespace sharewell::platform {
namespace {

constexpr int kPeriodMicroseconds = 100'000;
constexpr int kRemovals = 25;  // a group whose last process has just gone is busy a little longer

// 0, or why not.
int WriteValue(const std::string& path, const std::string& value) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const ssize_t n = ::write(file, value.data(), value.size());
  const int error = n < 0 ? errno : 0;
  ::close(file);
  return error;
}

std::string GroupName(const std::string& name) {
  static std::atomic<int> count{0};
  std::string plain;
  for (const char c : name.substr(0, 40)) {
    plain += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return fmt::format("sharewell-{}-{}-{}", ::getpid(), ++count, plain);
}

struct WantedLimit {
  const char* controller;
  std::string what;                                         // for messages
  std::vector<std::pair<std::string, std::string>> v2, v1;  // files and values
};

std::vector<WantedLimit> WantedBy(const CgroupLimits& limits) {
  std::vector<WantedLimit> wanted;
  if (limits.cpus) {
    const std::string cpus = FormatCpus(*limits.cpus);
    wanted.push_back({"cpuset",
                      "CPU set (its affinity is set, which the job may change)",
                      {{"cpuset.cpus", cpus}},
                      {{"cpuset.cpus", cpus}}});
  }
  if (limits.cpu_time) {
    const bool bounded = std::isfinite(*limits.cpu_time);
    const std::string quota = fmt::format(
        "{:.0f}", bounded ? std::max(1000.0, *limits.cpu_time * kPeriodMicroseconds) : -1.0);
    wanted.push_back(
        {"cpu",
         "CPU time",
         {{"cpu.max", fmt::format("{} {}", bounded ? quota : "max", kPeriodMicroseconds)}},
         {{"cpu.cfs_period_us", fmt::format("{}", kPeriodMicroseconds)},
          {"cpu.cfs_quota_us", quota}}});
  }
  if (limits.memory) {
    const std::string bytes = fmt::format("{:.0f}", limits.memory->value);
    wanted.push_back(
        {"memory", "host memory", {{"memory.max", bytes}}, {{"memory.limit_in_bytes", bytes}}});
  }
  if (limits.processes) {
    const std::string most = fmt::format("{}", *limits.processes);
    wanted.push_back({"pids", "number of processes", {{"pids.max", most}}, {{"pids.max", most}}});
  }
  return wanted;
}

std::vector<std::string> ControllersOf(const CgroupLimits& limits) {
  std::vector<std::string> controllers;
  for (const WantedLimit& want : WantedBy(limits)) controllers.emplace_back(want.controller);
  return controllers;
}

// 0 or the first error.
int WriteAllValues(const std::string& folder,
                   const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [file, value] : values) {
    if (const int error = WriteValue(folder + "/" + file, value); error != 0) return error;
  }
  return 0;
}

}  // namespace

std::unique_ptr<Cgroup> Cgroup::MakeWithin(const Cgroup& outer, const std::string& name,
                                           const CgroupLimits& limits) {
  const auto controllers = ControllersOf(limits);
  if (controllers.empty()) return std::unique_ptr<Cgroup>(new Cgroup());
  CgroupHome home = CgroupHome::Find(controllers);
  for (auto& [controller, place] : home.places_) {
    const std::string folder = outer.FolderOf(controller);
    if (folder.empty()) continue;
    if (home.v2_) WriteValue(folder + "/cgroup.subtree_control", "+" + controller);
    place = {folder, {}};
  }
  return home.Make(GroupName(name), limits);
}

std::unique_ptr<Cgroup> Cgroup::Make(const std::string& name, const CgroupLimits& limits,
                                     const std::string& root) {
  const auto controllers = ControllersOf(limits);
  if (controllers.empty()) return std::unique_ptr<Cgroup>(new Cgroup());
  const CgroupHome home = CgroupHome::Find(controllers, root);
  home.RemoveStale();
  return home.Make(GroupName(name), limits);
}

std::unique_ptr<Cgroup> CgroupHome::Make(const std::string& name,
                                         const CgroupLimits& limits) const {
  std::unique_ptr<Cgroup> group(new Cgroup());
  for (const WantedLimit& want : WantedBy(limits)) {
    const auto it = places_.find(want.controller);
    const Place place = it == places_.end() ? Place{{}, "it was not looked for"} : it->second;
    std::string why = place.why;
    const std::string folder = place.parent + "/" + name;
    if (!place.parent.empty()) {
      const bool made = ::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST;
      int error = made ? 0 : errno;
      if (made && !v2_ && std::string_view(want.controller) == "cpuset") {
        std::ifstream in(place.parent + "/cpuset.mems");
        std::string mems;
        std::getline(in, mems);
        WriteValue(folder + "/cpuset.mems", mems);
      }
      if (error == 0) error = WriteAllValues(folder, v2_ ? want.v2 : want.v1);
      if (error == 0 && (!v2_ || group->parts_.empty())) {
        group->parts_.push_back({v2_ ? "" : want.controller, folder});
      }
      if (error != 0 && made && (!v2_ || group->parts_.empty())) ::rmdir(folder.c_str());
      why = error == 0 ? "" : std::strerror(error);
    }
    if (why.empty() && !place.parent.empty()) continue;
    group->missing_.push_back(
        {want.controller, want.what.substr(0, want.what.find(" (")), place.parent.empty(),
         fmt::format("{} not bounded by a control group: {}; as root, or with `systemd-run --user "
                     "--scope -p Delegate=yes`, it can be",
                     want.what, why)});
  }
  if (v2_ && !group->parts_.empty()) group->folder_ = group->parts_.front().folder;
  return group;
}

std::unique_ptr<Cgroup> CgroupHome::Again(const std::string& name) const {
  std::unique_ptr<Cgroup> group(new Cgroup());
  for (const auto& [controller, place] : places_) {
    const std::string folder = place.parent + "/" + name;
    if (place.parent.empty() || !std::filesystem::exists(folder)) continue;
    if (!v2_ || group->parts_.empty()) group->parts_.push_back({v2_ ? "" : controller, folder});
    if (v2_) group->folder_ = folder;
  }
  return group;
}

std::vector<std::string> Cgroup::procs() const {
  std::vector<std::string> files;
  for (const Part& part : parts_) files.push_back(part.folder + "/cgroup.procs");
  return files;
}

std::string Cgroup::FolderOf(const std::string& controller) const {
  for (const Part& part : parts_) {
    if (part.controller.empty() || part.controller == controller) return part.folder;
  }
  return {};
}

bool Cgroup::Bounds(const std::string& controller) const {
  const std::string folder = FolderOf(controller);
  if (folder.empty() || folder_.empty()) return !folder.empty();
  // In v2 one folder has what was given to it.
  const std::string file = controller == "cpuset" ? "cpuset.cpus" : controller + ".max";
  return ::access((folder + "/" + file).c_str(), F_OK) == 0;
}

bool Cgroup::Change(const CgroupLimits& limits) {
  bool all = true;
  for (const WantedLimit& want : WantedBy(limits)) {
    const std::string folder = FolderOf(want.controller);
    all =
        !folder.empty() && WriteAllValues(folder, folder_.empty() ? want.v1 : want.v2) == 0 && all;
  }
  return all;
}

std::string Cgroup::NoForksFile() const {
  return Bounds("pids") ? FolderOf("pids") + "/pids.max" : std::string();
}

std::string Cgroup::KillFile() const {
  const std::string file = folder_ + "/cgroup.kill";
  return !folder_.empty() && ::access(file.c_str(), W_OK) == 0 ? file : std::string();
}

namespace {

std::set<pid_t> MembersIn(const std::string& procs) {
  std::set<pid_t> members;
  std::ifstream in(procs);
  for (pid_t pid = 0; in >> pid && pid > 0;) members.insert(pid);
  return members;
}

// A number that is in the group both before and after its handle was opened is a member's, or the
// handle's process is gone. So many handles at a time; true members: how many there are.
int KillMembers(const std::string& procs) {
  constexpr std::size_t kAtOnce = 256;
  const std::set<pid_t> before = MembersIn(procs);
  for (auto next = before.begin(); next != before.end();) {
    std::vector<ProcessHandle> handles;
    for (; next != before.end() && handles.size() < kAtOnce; ++next) handles.emplace_back(*next);
    const std::set<pid_t> still = MembersIn(procs);
    for (const ProcessHandle& handle : handles) {
      if (still.contains(handle.pid())) handle.Send(SIGKILL);
    }
  }
  return static_cast<int>(before.size());
}

}  // namespace

int Cgroup::KillAll() {
  if (const std::string file = NoForksFile(); !file.empty()) WriteValue(file, "0");
  if (const std::string file = KillFile(); !file.empty()) WriteValue(file, "1");
  int found = 0;
  for (const std::string& procs : this->procs()) found += KillMembers(procs);
  return found;
}

bool Cgroup::MemoryKilled() const {
  const std::string folder = FolderOf("memory");
  if (folder.empty()) return false;
  std::ifstream in(folder + (folder_.empty() ? "/memory.oom_control" : "/memory.events"));
  long long count = 0;
  for (std::string key; in >> key >> count;) {
    if (key == "oom_kill") return count > 0;
  }
  return false;
}

bool Cgroup::TryRemove() {
  std::erase_if(
      parts_, [](const Part& part) { return ::rmdir(part.folder.c_str()) == 0 || errno != EBUSY; });
  return parts_.empty();
}

Cgroup::~Cgroup() {
  for (int i = 0; i < kRemovals && !kept_ && !TryRemove(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace sharewell::platform
