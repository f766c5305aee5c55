#include "engine/local/run/supervised.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
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
#include "platform/process/cpu_set.h"
#include "platform/process/descendants.h"

namespace sharewell::engine {
namespace {

constexpr const char* kSupervisorName = "sharewell-supervise";
constexpr const char* kPauserName = "sharewell-pause";

// By its variable, beside this program, or in ../libexec/sharewell.
core::Result<std::string> FindHelper(const char* name, const char* variable, const char* does) {
  if (const char* set = std::getenv(variable); set != nullptr && *set != 0) {
    return std::string(set);
  }
  std::error_code error;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const auto other = beside.parent_path() / "libexec" / "sharewell" / name;
  for (const auto& path : {beside / name, other}) {
    if (::access(path.c_str(), X_OK) == 0) return path.string();
  }
  return tl::unexpected(
      core::Error{core::ErrorKind::kAbsent,
                  fmt::format("the program that {} is neither {} nor {}; install both programs, or "
                              "name it in ${}",
                              does, core::Quoted((beside / name).string()),
                              core::Quoted(other.string()), variable)});
}

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
  return FindHelper(kSupervisorName, "SHAREWELL_SUPERVISE", "watches jobs");
}

core::Result<std::string> FindPauser() {
  return FindHelper(kPauserName, "SHAREWELL_PAUSE", "pauses jobs");
}

core::Result<void> CheckPauser(const std::string& program) {
  constexpr int kPatience = 10'000;  // ms
  const auto cannot = [](std::string why) {
    return tl::unexpected(core::Error{core::ErrorKind::kAbsent, std::move(why)});
  };
  int pipe[2] = {-1, -1};
  if (::pipe2(pipe, O_CLOEXEC) != 0) return cannot(std::strerror(errno));
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, pipe[1], STDERR_FILENO);
  std::string name = kPauserName, verb = "check";
  char* const words[] = {name.data(), verb.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &files, nullptr, words, environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(pipe[1]);
  std::string said;
  pollfd wanted{pipe[0], POLLIN, 0};
  char block[1024];
  ssize_t n = error == 0 ? 1 : 0;
  while (n > 0 && said.size() < sizeof block && ::poll(&wanted, 1, kPatience) > 0) {
    n = ::read(pipe[0], block, sizeof block);
    if (n > 0) said.append(block, static_cast<std::size_t>(n));
  }
  ::close(pipe[0]);
  if (error != 0) return cannot(fmt::format("{}: {}", program, std::strerror(error)));
  if (n > 0) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return cannot(said.empty() ? "the driver's library does not answer" : said);
}

core::Result<int> StartPauser(const std::string& program, bool pause, const std::string& folder) {
  posix_spawnattr_t how;
  if (::posix_spawnattr_init(&how) != 0) return core::FailedError("out of memory");
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&how, &none);
  ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  std::string name = kPauserName, verb = pause ? "pause" : "resume", where = folder;
  char* const words[] = {name.data(), verb.data(), where.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), nullptr, &how, words, environ);
  ::posix_spawnattr_destroy(&how);
  if (error != 0) {
    return core::FailedError("cannot start {}: {}", core::Quoted(program), std::strerror(error));
  }
  return pid;
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

bool KeepTreeToCpus(int pid, const std::vector<int>& cpus, const std::vector<int>& from) {
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
      if (!from.empty() && platform::AllowedCpus(thread) != from) return;
      all = (::sched_setaffinity(thread, size, set) == 0 || errno == ESRCH) && all;
    });
  }
  CPU_FREE(set);
  return all;
}

}  // namespace sharewell::engine
