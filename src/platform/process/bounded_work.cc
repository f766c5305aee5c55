#include "platform/process/bounded_work.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

namespace sharewell::platform {
namespace {

using End = WorkDone::End;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMostAnswer = std::size_t{64} << 20;  // that this process keeps of it
constexpr const char* kFirstToGo = "1000";                  // oom_score_adj

// What comes through the pipe: a head, then so many bytes.
enum class Kind : std::uint64_t { kTold, kAnswer, kNoMemory };
struct Head {
  Kind kind = Kind::kTold;
  std::uint64_t size = 0;
};

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

void WriteAll(int fd, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(fd, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(1);  // nobody reads any more
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

void Put(int fd, Kind kind, std::string_view bytes) {
  const Head head{kind, bytes.size()};
  WriteAll(fd, &head, sizeof head);
  WriteAll(fd, bytes.data(), bytes.size());
}

void CloseAllBut(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned from = 3;
  const auto close_to = [](unsigned first, unsigned last) {
    if (first > last || ::syscall(SYS_close_range, first, last, 0) == 0) return;
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    for (rlim_t fd = first; fd <= std::min<rlim_t>(last, files.rlim_cur); ++fd) {
      ::close(static_cast<int>(fd));
    }
  };
  for (const int fd : kept) {
    if (fd < 3) continue;
    const auto number = static_cast<unsigned>(fd);
    if (number > from) close_to(from, number - 1);
    from = number + 1;
  }
  close_to(from, ~0U);
}

void Limit(__rlimit_resource_t what, double soft, double hard) {
  rlimit now{};
  ::getrlimit(what, &now);
  const auto bound = [&](double value) {
    return std::min<rlim_t>(now.rlim_max, static_cast<rlim_t>(std::min(value, 1e18)));
  };
  const rlimit limit{bound(soft), bound(hard)};
  ::setrlimit(what, &limit);
}

// RLIMIT_DATA counts what is private and writable: of a mapped model file nothing. It begins at
// what this process has, as the fork has all of that too. Address space is bounded as well, with
// room for files, for kernels that count less as data.
void LimitMemory(core::Bytes memory) {
  std::array<char, 256> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? -1 : ::read(file, text.data(), text.size() - 1);
  if (file >= 0) ::close(file);
  double pages = 0, data = 0;
  if (got <= 0 || std::sscanf(text.data(), "%lf %*f %*f %*f %*f %lf", &pages, &data) != 2) {
    ::_exit(1);  // better no answer than no bound
  }
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  constexpr double kFiles = double{1LL << 32};
  Limit(RLIMIT_DATA, data * page + memory.value, data * page + memory.value);
  const double space = pages * page + memory.value + kFiles;
  Limit(RLIMIT_AS, space, space);
}

void BecomeWorker(const WorkBounds& bounds, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::prctl(PR_SET_NAME, "sharewell-study");
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // The kernel takes it before the server and before any job.
  if (const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
    [[maybe_unused]] const auto written = ::write(file, kFirstToGo, std::strlen(kFirstToGo));
    ::close(file);
  }
  Limit(RLIMIT_CORE, 0, 0);  // it would have the server's memory in it
  Limit(RLIMIT_FSIZE, 0, 0);
  const double cpu = std::ceil(bounds.cpu.value);
  Limit(RLIMIT_CPU, cpu, cpu + 1);
  LimitMemory(bounds.memory);
}

[[noreturn]] void Work(const WorkBounds& bounds, pid_t parent, int out,
                       const std::function<std::string(const TellWork&)>& work,
                       std::span<const int> files) {
  try {
    BecomeWorker(bounds, parent);
    std::vector<int> kept(files.begin(), files.end());
    kept.push_back(out);
    CloseAllBut(std::move(kept));
    const std::string answer =
        work([out](std::string_view bytes) { Put(out, Kind::kTold, bytes); });
    Put(out, Kind::kAnswer, answer);
  } catch (const std::bad_alloc&) {
    Put(out, Kind::kNoMemory, {});
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);  // what the server would do at its end is not for this process
}

// The other process, as this one sees it.
class Watched {
 public:
  explicit Watched(pid_t pid)
      : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  // Nobody else waits for it, so that its number is its own until Reap.
  void Kill() const {
    if (pidfd_.get() < 0 || ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0)) {
      ::kill(pid_, SIGKILL);
    }
  }
  int Reap(core::Seconds& cpu) const {
    int status = 0;
    rusage used{};
    while (::wait4(pid_, &status, 0, &used) < 0 && errno == EINTR) {
    }
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    cpu = core::Seconds(seconds(used.ru_utime) + seconds(used.ru_stime));
    return status;
  }

 private:
  const pid_t pid_;
  const Descriptor pidfd_;
};

// What has come through the pipe so far.
class Inbox {
 public:
  enum class State { kOpen, kClosed, kTooMuch };

  State Read(int fd, const TellWork& told) {
    std::array<char, 65536> room;
    const ssize_t got = ::read(fd, room.data(), room.size());
    if (got < 0) return errno == EINTR || errno == EAGAIN ? State::kOpen : State::kClosed;
    if (got == 0) return State::kClosed;
    bytes_.append(room.data(), static_cast<std::size_t>(got));
    while (Next(told)) {
    }
    return bytes_.size() > kMostAnswer ? State::kTooMuch : State::kOpen;
  }
  std::optional<std::string> answer;
  bool no_memory = false;

 private:
  bool Next(const TellWork& told) {
    Head head;
    if (bytes_.size() < sizeof head) return false;
    std::memcpy(&head, bytes_.data(), sizeof head);
    if (bytes_.size() - sizeof head < head.size) return false;
    const std::string_view body = std::string_view(bytes_).substr(sizeof head, head.size);
    if (head.kind == Kind::kAnswer) answer = body;
    if (head.kind == Kind::kNoMemory) no_memory = true;
    if (head.kind == Kind::kTold && told) told(body);
    bytes_.erase(0, sizeof head + head.size);
    return true;
  }

  std::string bytes_;
};

std::string InWords(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("its process was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  }
  return fmt::format("its process ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

WorkDone DoBounded(const WorkBounds& bounds, const WorkStop& stop,
                   const std::function<std::string(const TellWork& tell)>& work,
                   const TellWork& told, std::span<const int> files) {
  WorkDone done;
  if (stop.asked()) {
    done.end = End::kStopped;
    return done;
  }
  const auto until = SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(
                                              std::chrono::duration<double>(bounds.wall.value));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    done.why = fmt::format("no pipe for its process: {}", std::strerror(errno));
    return done;
  }
  const Descriptor in(ends[0]);
  Descriptor out(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) Work(bounds, parent, out.get(), work, files);
  if (pid < 0) {
    done.why = fmt::format("no process for it: {}", std::strerror(errno));
    return done;
  }
  out.Close();
  const Watched child(pid);
  Inbox inbox;
  std::optional<End> ended;
  // The pipe closes when the process has gone: no one else has its end.
  for (auto state = Inbox::State::kOpen; !ended && state != Inbox::State::kClosed;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
    if (left.count() <= 0) {
      ended = End::kWall;
      break;
    }
    pollfd wanted[] = {{.fd = in.get(), .events = POLLIN, .revents = 0},
                       {.fd = stop.fd(), .events = POLLIN, .revents = 0}};
    ::poll(wanted, 2, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (wanted[1].revents != 0) {
      ended = End::kStopped;
    } else if (wanted[0].revents != 0) {
      state = inbox.Read(in.get(), told);
      if (state == Inbox::State::kTooMuch) ended = End::kMemory;
    }
  }
  if (ended) child.Kill();
  const int status = child.Reap(done.cpu);
  if (inbox.answer) {
    done.end = End::kAnswered;
    done.answer = std::move(*inbox.answer);
  } else if (ended) {
    done.end = *ended;
  } else if (inbox.no_memory) {
    done.end = End::kMemory;
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    done.end = End::kCpu;
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    done.end = End::kMemory;  // by the kernel, which takes these first when memory runs short
  } else {
    done.why = InWords(status);
  }
  return done;
}

}  // namespace sharewell::platform
