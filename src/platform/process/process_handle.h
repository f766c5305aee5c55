// A process that is signalled is the one that was meant, and no other that has its number by then.
// Nothing but libc, for the supervisor uses it too.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sharewell::platform {

// Of /proc/PID/stat.
struct ProcessLife {
  pid_t parent = 0;
  char state = '?';         // 'Z': a zombie
  std::uint64_t start = 0;  // ticks since boot: tells a number used again from the one before
};
// False: it is gone.
inline bool ReadProcessLife(pid_t pid, ProcessLife& out) {
  constexpr int kStartField = 22, kStateField = 3, kParentField = 4;
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t n = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (n <= 0) return false;
  text[n] = 0;
  // The name may hold anything, brackets too: what follows the last one is ours to read.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return false;
  at += 2;
  for (int field = kStateField; field < kStartField; ++field) {
    if (field == kStateField) out.state = *at;
    if (field == kParentField) out.parent = static_cast<pid_t>(std::strtol(at, nullptr, 10));
    at = std::strchr(at, ' ');
    if (at == nullptr) return false;
    ++at;
  }
  out.start = std::strtoull(at, nullptr, 10);
  return true;
}

// Stands for whoever had the number when it was opened, whatever becomes of the number. Open it,
// ask whether that is the process that is meant, and then signal: who dies in between is not
// replaced. Where the kernel has no such handles (before 5.3), or no files are left, the number
// itself is signalled: a job must come to its end.
class ProcessHandle {
 public:
  explicit ProcessHandle(pid_t pid)
      : pid_(pid), file_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {
    gone_ = file_ < 0 && (errno == ESRCH || errno == EINVAL);
  }
  ProcessHandle(ProcessHandle&& other) noexcept
      : pid_(other.pid_), file_(other.file_), gone_(other.gone_) {
    other.file_ = -1;
    other.gone_ = true;
  }
  ProcessHandle& operator=(ProcessHandle&&) = delete;
  ~ProcessHandle() {
    if (file_ >= 0) ::close(file_);
  }

  pid_t pid() const { return pid_; }
  bool gone() const { return gone_; }
  bool Send(int signal) const {
    if (gone_) return false;
    if (file_ < 0) return ::kill(pid_, signal) == 0;
    return ::syscall(SYS_pidfd_send_signal, file_, signal, nullptr, 0) == 0;
  }

 private:
  pid_t pid_;
  int file_;
  bool gone_ = false;
};

// `is_it`: asked once the handle is open, whether the process of that number is the one that is
// meant. False: it was not, or is gone.
template <typename IsIt>
bool SignalProcess(pid_t pid, int signal, const IsIt& is_it) {
  const ProcessHandle handle(pid);
  return !handle.gone() && is_it() && handle.Send(signal);
}

// By when it began.
inline bool SignalProcess(pid_t pid, std::uint64_t start, int signal) {
  return SignalProcess(pid, signal, [&] {
    ProcessLife life;
    return ReadProcessLife(pid, life) && life.start == start;
  });
}

}  // namespace sharewell::platform
