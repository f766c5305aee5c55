#include "platform/process/cgroup_home.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "sharewell-";

std::string FirstLineOf(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

bool WriteText(const std::string& path, const std::string& value) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, value.data(), value.size()) >= 0;
  ::close(file);
  return written;
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

// A group that is made to see what is given to it, and goes again.
class Probe {
 public:
  explicit Probe(const std::string& parent)
      : folder_(fmt::format("{}/{}{}-probe", parent, kPrefix, ::getpid())) {
    if (::mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST) why_ = std::strerror(errno);
    if (why_.empty() && fs::exists(folder_ + "/cpuset.mems")) {
      WriteText(folder_ + "/cpuset.mems", FirstLineOf(parent + "/cpuset.mems"));
      WriteText(folder_ + "/cpuset.cpus", FirstLineOf(parent + "/cpuset.cpus"));
    }
    if (why_.empty() && !MayEnter(folder_ + "/cgroup.procs")) why_ = "no process may enter it";
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe() {
    for (int i = 0; i < 25 && ::rmdir(folder_.c_str()) != 0 && errno == EBUSY; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  const std::string& why() const { return why_; }
  std::set<std::string> Controllers() const {
    std::ifstream in(folder_ + "/cgroup.controllers");
    return {std::istream_iterator<std::string>(in), {}};
  }

 private:
  std::string folder_, why_;
};

struct FoundParent {
  std::string parent, why;
  std::set<std::string> given;
};

// Below our own group or, since a group with processes in it can give no controllers to its
// children, beside it: the first that gives all of `controllers`, else the one that gives most.
FoundParent FindV2(const std::string& mount, const std::string& own,
                   const std::vector<std::string>& controllers) {
  FoundParent best{.parent = {}, .why = "the group cannot be made", .given = {}};
  for (const fs::path& parent : {fs::path(mount + own), fs::path(mount + own).parent_path()}) {
    if (!fs::exists(parent / "cgroup.procs")) continue;
    // Also what only counts: a job's own memory and disk figures come from its group.
    for (const char* controller : {"cpuset", "cpu", "memory", "io", "pids"}) {
      WriteText((parent / "cgroup.subtree_control").string(), fmt::format("+{}", controller));
    }
    const Probe probe(parent.string());
    if (!probe.why().empty()) {
      if (best.parent.empty()) best.why = probe.why();
      continue;
    }
    std::set<std::string> given;
    const auto all = probe.Controllers();
    for (const std::string& controller : controllers) {
      if (all.count(controller) != 0) given.insert(controller);
    }
    if (given.empty() && best.parent.empty()) best.why = "its controllers are not given to us";
    if (given.size() > best.given.size()) {
      best = {
          .parent = parent.string(), .why = "its controller is not given to us", .given = given};
    }
    if (given.size() == controllers.size()) break;
  }
  return best;
}

FoundParent FindV1(const std::string& base, const std::string& own, const std::string& controller) {
  for (const std::string& mount : {base + "/" + controller, base + "/cpu,cpuacct"}) {
    if (mount.find(controller) == mount.npos) continue;
    // In a container our path may name a folder that only the host sees.
    for (const std::string& parent : {mount + own, mount}) {
      if (!fs::exists(parent + "/cgroup.procs")) continue;
      const Probe probe(parent);
      return {probe.why().empty() ? parent : std::string(), probe.why(), {}};
    }
  }
  return {{}, "this kernel has no such controller mounted", {}};
}

}  // namespace

CgroupHome CgroupHome::Find(const std::vector<std::string>& controllers, const std::string& root) {
  CgroupHome home;
  const std::string below = root == "/" ? "" : root, base = below + "/sys/fs/cgroup";
  const auto own = OwnGroups(below);
  const auto path_of = [&](const std::string& controller) {
    const auto it = own.find(controller);
    return it == own.end() || it->second == "/" ? std::string() : it->second;
  };
  home.v2_ = fs::exists(base + "/cgroup.controllers");
  const FoundParent whole = home.v2_ ? FindV2(base, path_of(""), controllers) : FoundParent{};
  for (const std::string& controller : controllers) {
    const FoundParent found = home.v2_ ? whole : FindV1(base, path_of(controller), controller);
    const bool given = !home.v2_ || found.given.count(controller) != 0;
    home.places_[controller] = {given ? found.parent : std::string(), found.why};
  }
  return home;
}

std::vector<std::string> CgroupHome::Names(const std::string& prefix) const {
  std::set<std::string> names;
  for (const auto& [controller, place] : places_) {
    std::error_code error;
    if (place.parent.empty()) continue;
    for (fs::directory_iterator it(place.parent, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (name.rfind(prefix, 0) == 0) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

void CgroupHome::RemoveStale() const {
  for (const std::string& name : Names(kPrefix)) {
    const int pid = std::atoi(name.c_str() + std::strlen(kPrefix));
    if (pid <= 0 || ::kill(pid, 0) == 0 || errno != ESRCH) continue;
    for (const auto& [controller, place] : places_) {
      if (!place.parent.empty()) ::rmdir((place.parent + "/" + name).c_str());
    }
  }
}

}  // namespace sharewell::platform
