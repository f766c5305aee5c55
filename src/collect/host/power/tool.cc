#include "collect/host/power/tool.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "collect/host/files.h"
#include "core/text/quoted.h"

extern char** environ;

namespace sharewell::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = 256 * 1024;
constexpr int kSliceMs = 50;  // how soon a stop is noticed
constexpr auto kDeathGrace = std::chrono::seconds(1);

struct SpawnSettings {
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// A process of its own group, so that what it starts can be killed with it; signals as usual.
int Spawn(const std::vector<std::string>& command, int out, int& pid) {
  SpawnSettings settings;
  ::posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&settings.actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&settings.actions, out, STDERR_FILENO);
  sigset_t none, usual;
  ::sigemptyset(&none);
  ::sigfillset(&usual);
  ::posix_spawnattr_setsigmask(&settings.attributes, &none);
  ::posix_spawnattr_setsigdefault(&settings.attributes, &usual);
  ::posix_spawnattr_setpgroup(&settings.attributes, 0);
  ::posix_spawnattr_setflags(
      &settings.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return ::posix_spawn(&pid, command.front().c_str(), &settings.actions, &settings.attributes,
                       arguments.data(), environ);
}

enum class PipeEnd { kClosed, kLate, kStopped };

PipeEnd ReadUntil(int fd, Clock::time_point deadline, const std::stop_token& stop,
                  std::string& output) {
  char buffer[4096];
  while (true) {
    if (stop.stop_requested()) return PipeEnd::kStopped;
    if (Clock::now() >= deadline) return PipeEnd::kLate;
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, kSliceMs) <= 0) continue;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got == 0) return PipeEnd::kClosed;
    if (got < 0 && errno != EINTR && errno != EAGAIN) return PipeEnd::kClosed;
    if (got > 0 && output.size() < kMostOutput) {
      output.append(buffer, static_cast<std::size_t>(got));
    }
  }
}

}  // namespace

bool Tool::Reap() {
  if (pid_ == 0) return true;
  const int got = ::waitpid(pid_, nullptr, WNOHANG);
  if (got == 0) return false;
  pid_ = 0;
  return true;
}

core::Result<int> Tool::Wait() {
  for (const auto deadline = Clock::now() + kDeathGrace; Clock::now() < deadline;) {
    int status = 0;
    const int got = ::waitpid(pid_, &status, WNOHANG);
    if (got != 0) {
      pid_ = 0;
      return got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return core::FailedError("it does not end");
}

core::Result<std::string> Tool::Run(const std::vector<std::string>& command, core::Seconds limit,
                                    const std::stop_token& stop) {
  const std::string& name = command.front();
  if (!Reap()) {
    return core::FailedError(
        "{} (process {}) still hangs in the kernel; it is tried again when that has ended", name,
        pid_);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return core::FailedError("no pipe to {}: {}", name, ErrorText(errno));
  }
  const int error = Spawn(command, ends[1], pid_);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    pid_ = 0;
    return core::FailedError("{} cannot be started: {}", name, ErrorText(error));
  }
  std::string output;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(limit.value));
  const PipeEnd end = ReadUntil(ends[0], deadline, stop, output);
  ::close(ends[0]);
  // Also what it left running behind a closed pipe.
  if (end != PipeEnd::kClosed) ::kill(-pid_, SIGKILL);
  auto code = Wait();
  if (!code) {
    ::kill(-pid_, SIGKILL);
    code = Wait();
  }
  if (end == PipeEnd::kLate || !code) {
    return core::FailedError("{} was not done after {:g} s and was killed", name, limit.value);
  }
  if (end == PipeEnd::kStopped) return core::FailedError("{} was stopped", name);
  if (*code != 0) {
    return core::FailedError("{} failed (exit code {}): {}", name, *code,
                             core::Quoted(output.substr(0, output.find('\n'))));
  }
  return output;
}

}  // namespace sharewell::collect
