#include "supervise/start.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "engine/local/run/job_files.h"

namespace sharewell::supervise {
namespace {

constexpr int kCleanupRounds = 500;  // of 20 ms

struct Ends {
  int out, err, failure;
  pid_t parent;
  bool entered;       // its control group
  int terminal = -1;  // in place of the others
};

// A child that is in the group from its first moment. To move one there later makes the whole
// machine wait, for 10 ms and more. False: the kernel cannot; there is no child.
bool ForkInto(const char* group, pid_t& pid) {
#ifdef CLONE_INTO_CGROUP
  const int folder = group == nullptr ? -1 : ::open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  clone_args how{};
  how.flags = CLONE_INTO_CGROUP;
  how.exit_signal = SIGCHLD;
  how.cgroup = static_cast<unsigned>(folder);
  pid = static_cast<pid_t>(::syscall(SYS_clone3, &how, sizeof how));
  ::close(folder);
  return pid >= 0;
#else
  return false;
#endif
}

[[noreturn]] void Fail(const Ends& ends, const char* where) {
  Failure failure{{}, errno};
  std::strncpy(failure.where, where, sizeof failure.where - 1);
  [[maybe_unused]] const auto ignored = ::write(ends.failure, &failure, sizeof failure);
  ::_exit(failure.error == ENOENT ? 127 : 126);
}

void WriteText(const char* path, const char* text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const auto ignored = ::write(file, text, std::strlen(text));
  ::close(file);
}

bool EnterGroups(const Spec& spec) {
  for (std::size_t i = 0; i < spec.groups_to_enter.count; ++i) {
    const int file = ::open(spec.groups_to_enter.words[i], O_WRONLY | O_CLOEXEC);
    if (file < 0 || ::write(file, "0", 1) != 1) return false;
    ::close(file);
  }
  return true;
}

bool PlaceFiles(const Ends& ends) {
  if (ends.terminal >= 0) {
    return ::ioctl(ends.terminal, TIOCSCTTY, 0) == 0 && ::dup2(ends.terminal, STDIN_FILENO) >= 0 &&
           ::dup2(ends.terminal, STDOUT_FILENO) >= 0 && ::dup2(ends.terminal, STDERR_FILENO) >= 0;
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int out = ends.out < 0 ? null : ends.out, err = ends.err < 0 ? null : ends.err;
  return null >= 0 && ::dup2(null, STDIN_FILENO) >= 0 && ::dup2(out, STDOUT_FILENO) >= 0 &&
         ::dup2(err, STDERR_FILENO) >= 0;
}

// The number at `text`, or `otherwise` where there is none; `text` moves behind it.
rlim_t NextLimit(const char*& text, rlim_t otherwise) {
  while (*text == ' ') ++text;
  char* after = nullptr;
  const rlim_t value = std::strtoull(text, &after, 10);
  const bool none = after == text || *text == '-';
  text += std::strcspn(text, " ");
  return none ? otherwise : value;
}

// Within ours, which no job has more of than its server was given. (RLIM_INFINITY is the largest
// number there is.)
void LimitResource(const char* text) {
  char* after = nullptr;
  const auto resource = static_cast<decltype(RLIMIT_NPROC)>(std::strtol(text, &after, 10));
  rlimit limit{};
  if (after == text || ::getrlimit(resource, &limit) != 0) return;
  text = after;
  const rlim_t soft = NextLimit(text, limit.rlim_cur), hard = NextLimit(text, limit.rlim_max);
  if (hard < limit.rlim_max) limit.rlim_max = hard;
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  ::setrlimit(resource, &limit);
}

bool BecomeUser(const Spec& spec) {
  return ::setgroups(spec.group_count, spec.groups) == 0 &&
         ::setresgid(spec.gid, spec.gid, spec.gid) == 0 &&
         ::setresuid(spec.uid, spec.uid, spec.uid) == 0;
}

[[noreturn]] void BecomeCommand(const Spec& spec, const Words& command, const char* oom_score,
                                const Ends& ends) {
  ::setsid();
  if (oom_score[0] != 0) WriteText("/proc/self/oom_score_adj", oom_score);
  if (!ends.entered && !EnterGroups(spec)) Fail(ends, engine::kFailedGroup);
  if (spec.cpus != nullptr && ::sched_setaffinity(0, spec.cpus_size, spec.cpus) != 0) {
    Fail(ends, engine::kFailedCpus);
  }
  if (!PlaceFiles(ends)) Fail(ends, engine::kFailedFiles);
  for (std::size_t i = 0; i < spec.limits.count; ++i) LimitResource(spec.limits.words[i]);
  if (spec.has_user && !BecomeUser(spec)) Fail(ends, engine::kFailedUser);
  // After the change of users, which clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != ends.parent) ::_exit(126);
  const bool home = spec.home != nullptr && ::chdir(spec.home) == 0;
  if (!home && ::chdir(spec.folder) != 0) Fail(ends, engine::kFailedFolder);
  ::umask(spec.umask);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  environ = spec.environment.words;  // its PATH is where the command is looked for
  ::execvp(command.words[0], command.words);
  Fail(ends, engine::kFailedExec);
}

}  // namespace

bool StartCommand(const Spec& spec, const char* oom_score, int terminal, Started& out) {
  int pipes[3][2];
  for (auto& ends : pipes) {
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  Ends ends{pipes[0][1], pipes[1][1], pipes[2][1], ::getpid(), true, terminal};
  if (!ForkInto(spec.group, out.pid)) {
    ends.entered = false;
    out.pid = ::fork();
  }
  if (out.pid == 0) BecomeCommand(spec, spec.command, oom_score, ends);
  const int error = errno;
  for (auto& both : pipes) ::close(both[1]);
  out.out = pipes[0][0];
  out.err = pipes[1][0];
  out.failure = pipes[2][0];
  errno = error;
  return out.pid > 0;
}

void RunCleanup(const Spec& spec, const char* oom_score) {
  if (spec.cleanup.count == 0) return;
  Spec outside = spec;  // of its group too, where nothing may fork any more
  outside.folder = "/";
  const Ends ends{-1, -1, -1, ::getpid(), true};
  const pid_t pid = ::fork();
  if (pid == 0) BecomeCommand(outside, spec.cleanup, oom_score, ends);
  for (int i = 0; pid > 0 && i < kCleanupRounds; ++i) {
    if (::waitpid(pid, nullptr, WNOHANG) == pid) return;
    ::poll(nullptr, 0, 20);
  }
  if (pid > 0) ::kill(pid, SIGKILL);
  if (pid > 0) ::waitpid(pid, nullptr, 0);
}

}  // namespace sharewell::supervise
