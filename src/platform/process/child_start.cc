#include "platform/process/child_start.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/process/cpu_set.h"
#include "platform/process/find_program.h"

namespace sharewell::platform {
namespace {

using core::FailedError;
using core::Quoted;
using core::UsageError;

// What did not work in the child before its program ran.
struct StartFailure {
  enum Step : int { kGroup, kCpus, kFolder, kFiles, kExec };
  Step step = kExec;
  int error = 0;
  int which = 0;
};

// All that the child needs, made before the fork: between fork and exec it may not allocate.
struct Prepared {
  std::string program;
  std::vector<std::string> arguments, environment, shell_arguments;
  std::vector<char*> argv, envp, shell_argv;
  std::vector<int> groups;  // cgroup.procs, open
  cpu_set_t* cpus = nullptr;
  std::size_t cpus_size = 0;
  const char* folder = nullptr;
  bool own_session = true, null_stdin = true;
  int out = 1, err = 2, failure = -1;
  pid_t parent = 0;

  Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() {
    for (const int file : groups) ::close(file);
    if (cpus != nullptr) CPU_FREE(cpus);
  }
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const ChildOptions& options, const std::string& mark) {
  std::vector<std::string> added = {mark};
  for (const auto& [name, value] : options.environment) added.push_back(name + "=" + value);
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(), [&](std::string_view other) {
      return other.substr(0, other.find('=')) == name;
    });
    if (!replaced) all.emplace_back(text);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

core::Result<void> CheckTexts(const ChildOptions& options) {
  for (const std::string& text : options.command) {
    if (text.find('\0') != text.npos) {
      return UsageError("an argument of {} has a zero byte in it", Quoted(options.command.front()));
    }
  }
  for (const auto& [name, value] : options.environment) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos ||
        value.find('\0') != value.npos) {
      return UsageError("{} is no name of an environment variable, or its value has a zero byte",
                        Quoted(name));
    }
  }
  return {};
}

core::Result<void> PrepareBounds(const ChildOptions& options, Prepared& ready) {
  for (const std::string& path : options.cgroup_procs) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) return FailedError("cannot open {}: {}", Quoted(path), std::strerror(errno));
    ready.groups.push_back(file);
  }
  if (options.cpus.empty()) return {};
  const int most = *std::max_element(options.cpus.begin(), options.cpus.end());
  const auto count = static_cast<std::size_t>(most) + 1;
  ready.cpus = CPU_ALLOC(count);
  if (ready.cpus == nullptr) return FailedError("out of memory for a set of {} CPUs", count);
  ready.cpus_size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(ready.cpus_size, ready.cpus);
  for (const int cpu : options.cpus) {
    CPU_SET_S(static_cast<std::size_t>(cpu), ready.cpus_size, ready.cpus);
  }
  return {};
}

[[noreturn]] void Fail(const Prepared& ready, StartFailure::Step step, int which = 0) {
  const StartFailure failure{.step = step, .error = errno, .which = which};
  [[maybe_unused]] const auto ignored = ::write(ready.failure, &failure, sizeof failure);
  ::_exit(127);
}

// stdin, stdout and stderr in their places. Files are moved out of the way first: one of ours may
// stand where the other is to go.
bool PlaceFiles(const Prepared& ready) {
  const int out = ::fcntl(ready.out, F_DUPFD_CLOEXEC, 3);
  const int err = ::fcntl(ready.err, F_DUPFD_CLOEXEC, 3);
  // One that we were started without, the child is started without too.
  if (out >= 0 && ::dup2(out, STDOUT_FILENO) < 0) return false;
  if (err >= 0 && ::dup2(err, STDERR_FILENO) < 0) return false;
  if (!ready.null_stdin) return true;
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0) return false;
  if (null == STDIN_FILENO) return true;
  return ::dup2(null, STDIN_FILENO) >= 0 && ::close(null) == 0;
}

// In the child. Async-signal-safe calls only: another thread may have held any lock at the fork.
[[noreturn]] void BecomeProgram(const Prepared& ready) {
  if (ready.own_session) ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != ready.parent) ::_exit(127);  // it went before it could be told apart
  for (std::size_t i = 0; i < ready.groups.size(); ++i) {
    if (::write(ready.groups[i], "0", 1) != 1) {
      Fail(ready, StartFailure::kGroup, static_cast<int>(i));
    }
  }
  if (ready.cpus != nullptr && ::sched_setaffinity(0, ready.cpus_size, ready.cpus) != 0) {
    Fail(ready, StartFailure::kCpus);
  }
  if (!PlaceFiles(ready)) Fail(ready, StartFailure::kFiles);
  if (ready.folder != nullptr && ::chdir(ready.folder) != 0) Fail(ready, StartFailure::kFolder);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGPIPE, &usual, nullptr);  // which we ignore, and it would inherit
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(ready.program.c_str(), ready.argv.data(), ready.envp.data());
  // A script without a first line that names its shell: run as execvp and every shell would.
  if (errno == ENOEXEC && !ready.shell_argv.empty()) {
    ::execve("/bin/sh", ready.shell_argv.data(), ready.envp.data());
  }
  Fail(ready, StartFailure::kExec);
}

bool IsText(const std::string& program) {
  const int file = ::open(program.c_str(), O_RDONLY | O_CLOEXEC);
  char head[128];
  const ssize_t n = file < 0 ? -1 : ::read(file, head, sizeof head);
  if (file >= 0) ::close(file);
  return n > 0 && std::memchr(head, 0, static_cast<std::size_t>(n)) == nullptr;
}

core::Error StartFailureInWords(const StartFailure& failure, const ChildOptions& options,
                                const std::string& program) {
  const char* why = std::strerror(failure.error);
  switch (failure.step) {
    case StartFailure::kGroup:
      return FailedError("cannot enter the control group {}: {}",
                         Quoted(options.cgroup_procs[static_cast<std::size_t>(failure.which)]), why)
          .value();
    case StartFailure::kCpus:
      return UsageError("cannot run on CPUs {}: {}; this process may use {}",
                        FormatCpus(options.cpus), why, FormatCpus(AllowedCpus()))
          .value();
    case StartFailure::kFolder:
      return UsageError("cannot start in folder {}: {}", Quoted(options.folder), why).value();
    case StartFailure::kFiles:
      return FailedError("cannot redirect the output of {}: {}", Quoted(program), why).value();
    case StartFailure::kExec:
      break;
  }
  if (failure.error == ENOENT) {
    return UsageError("cannot run {}: the interpreter that its first line names is not there",
                      Quoted(program))
        .value();
  }
  if (failure.error == E2BIG) {
    return UsageError(
               "cannot run {}: its arguments and environment are too long; pass them in a "
               "file",
               Quoted(program))
        .value();
  }
  if (failure.error == ENOEXEC) {
    return UsageError("cannot run {}: it is no program for this machine", Quoted(program)).value();
  }
  return UsageError("cannot run {}: {}", Quoted(program), why).value();
}

}  // namespace

core::Result<int> StartProcess(const ChildOptions& options, const std::string& mark,
                               const ChildStart& start) {
  if (options.command.empty()) return UsageError("there is no command to run");
  RETURN_IF_ERROR(CheckTexts(options));
  const char* path = std::getenv("PATH");
  auto program = FindProgram(options.command.front(), path != nullptr ? path : "/usr/bin:/bin");
  RETURN_IF_ERROR(program);

  Prepared ready;
  // Found from where we are, run from where it starts.
  if (!options.folder.empty() && program->front() != '/') {
    char* whole = ::realpath(program->c_str(), nullptr);
    if (whole != nullptr) *program = whole;
    std::free(whole);
  }
  ready.program = *program;
  ready.arguments = options.command;
  ready.environment = EnvironmentWith(options, mark);
  if (IsText(*program)) {
    ready.shell_arguments = {"/bin/sh", *program};
    ready.shell_arguments.insert(ready.shell_arguments.end(), options.command.begin() + 1,
                                 options.command.end());
    ready.shell_argv = Pointers(ready.shell_arguments);
  }
  ready.argv = Pointers(ready.arguments);
  ready.envp = Pointers(ready.environment);
  RETURN_IF_ERROR(PrepareBounds(options, ready));
  ready.folder = options.folder.empty() ? nullptr : options.folder.c_str();
  ready.own_session = start.own_session;
  ready.null_stdin = !options.reads_stdin;
  ready.out = start.out;
  ready.err = start.err;
  ready.parent = ::getpid();

  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return FailedError("cannot start {}: no pipe: {}", Quoted(*program), std::strerror(errno));
  }
  // Out of the way of stdin, stdout and stderr, should we have been started without one of them.
  ready.failure = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
  ::close(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) BecomeProgram(ready);
  const int fork_error = errno;
  ::close(ready.failure);
  StartFailure failure;
  ssize_t got = 0;
  if (pid > 0) {
    do {
      got = ::read(ends[0], &failure, sizeof failure);
    } while (got < 0 && errno == EINTR);
  }
  ::close(ends[0]);
  if (pid < 0) {
    return FailedError("cannot start {}: {}", Quoted(*program), std::strerror(fork_error));
  }
  if (got == 0) return pid;
  ::waitpid(pid, nullptr, 0);
  return tl::unexpected(StartFailureInWords(failure, options, *program));
}

}  // namespace sharewell::platform
