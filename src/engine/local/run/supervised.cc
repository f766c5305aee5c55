#include "engine/local/run/supervised.h"

#include <dirent.h>
#include <sched.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "core/text/quoted.h"
#include "platform/process/descendants.h"

namespace sharewell::engine {
namespace {

constexpr const char* kSupervisorName = "sharewell-supervise";

template <class F>
void EachNumber(const std::string& folder, F&& each) {
  DIR* entries = ::opendir(folder.c_str());
  if (entries == nullptr) return;
  while (const dirent* entry = ::readdir(entries)) {
    const int number = std::atoi(entry->d_name);
    if (number > 0) each(number);
  }
  ::closedir(entries);
}

}  // namespace

core::Result<std::string> FindSupervisor() {
  if (const char* set = std::getenv("SHAREWELL_SUPERVISE"); set != nullptr && *set != 0) {
    return std::string(set);
  }
  std::error_code error;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const auto other = beside.parent_path() / "libexec" / "sharewell" / kSupervisorName;
  for (const auto& path : {beside / kSupervisorName, other}) {
    if (::access(path.c_str(), X_OK) == 0) return path.string();
  }
  return tl::unexpected(core::Error{
      core::ErrorKind::kAbsent,
      fmt::format("the program that watches jobs is neither {} nor {}; install both programs, or "
                  "name it in $SHAREWELL_SUPERVISE",
                  core::Quoted((beside / kSupervisorName).string()),
                  core::Quoted(other.string()))});
}

core::Result<int> StartSupervisor(const std::string& program, const std::string& folder) {
  sigset_t all, children;
  sigfillset(&all);
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  posix_spawnattr_t how;
  if (::posix_spawnattr_init(&how) != 0) return core::FailedError("out of memory");
  // A SIGTERM that comes early waits for it. (What we ignore, it sets right for its command.)
  ::posix_spawnattr_setsigmask(&how, &all);
  ::posix_spawnattr_setsigdefault(&how, &children);
  ::posix_spawnattr_setflags(&how,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::string name = kSupervisorName, where = folder;
  char* const words[] = {name.data(), where.data(), nullptr};
  char* const nothing[] = {nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), nullptr, &how, words, nothing);
  ::posix_spawnattr_destroy(&how);
  if (error != 0) {
    return core::FailedError("cannot start {}: {}", core::Quoted(program), std::strerror(error));
  }
  return pid;
}

bool KeepTreeToCpus(int pid, const std::vector<int>& cpus) {
  if (cpus.empty() || cpus.front() < 0) return false;
  std::map<int, std::vector<int>> children;
  EachNumber("/proc", [&](int each) {
    platform::ProcessStat stat;
    if (ReadProcessStat(each, stat)) children[stat.parent].push_back(each);
  });
  std::vector<int> tree = children[pid];
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const std::vector<int> next = children[tree[i]];
    tree.insert(tree.end(), next.begin(), next.end());
  }
  const auto count = static_cast<std::size_t>(*std::max_element(cpus.begin(), cpus.end())) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  if (set == nullptr) return false;
  const std::size_t size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, set);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size, set);
  bool all = true;
  for (const int process : tree) {
    EachNumber("/proc/" + std::to_string(process) + "/task", [&](int thread) {
      all = (::sched_setaffinity(thread, size, set) == 0 || errno == ESRCH) && all;
    });
  }
  CPU_FREE(set);
  return all;
}

}  // namespace sharewell::engine
