#include "platform/process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/process/child_start.h"
#include "platform/process/descendants.h"
#include "platform/process/output_relay.h"
#include "platform/process/passed_signals.h"

namespace sharewell::platform {

// A descriptor, closed with the object.
struct ChildFile {
  int number = -1;
  ChildFile() = default;
  explicit ChildFile(int n) : number(n) {}
  ChildFile(const ChildFile&) = delete;
  ChildFile& operator=(const ChildFile&) = delete;
  ~ChildFile() { Reset(-1); }
  void Reset(int n) {
    if (number >= 0) ::close(number);
    number = n;
  }
};

namespace {

using Clock = std::chrono::steady_clock;
using core::Seconds;

// How long a killed process may take to go: one in an uninterruptible wait cannot be hurried.
constexpr Seconds kKillPatience{5};
// Between looks at what is not told to us by a descriptor.
constexpr Seconds kLook{0.02};

Seconds Since(Clock::time_point start) {
  return Seconds(std::chrono::duration<double>(Clock::now() - start).count());
}

// As a shell would have it: in the foreground of a terminal, keys go to the job and to us alike.
bool InForeground() {
  const int terminal = ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return false;
  const bool foreground = ::tcgetpgrp(terminal) == ::getpgrp();
  ::close(terminal);
  return foreground;
}

std::string NewMark() {
  static std::atomic<int> count{0};
  return "SHAREWELL_CHILD=" + std::to_string(::getpid()) + "." + std::to_string(++count);
}

core::Result<void> OpenOutput(const ChildOutput& output, int ours, ChildFile& file,
                              std::unique_ptr<OutputRelay>& relay, int& childs) {
  childs = ours;
  if (output.to == ChildOutput::To::kFile) {
    file.Reset(::open(output.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (file.number < 0) {
      return core::FailedError("cannot write {}: {}", core::Quoted(output.file),
                               std::strerror(errno));
    }
    childs = file.number;
  }
  const bool nowhere = output.to == ChildOutput::To::kNull;
  if (output.seen) {
    auto made = OutputRelay::Make(nowhere ? -1 : childs, output.seen);
    RETURN_IF_ERROR(made);
    relay = std::move(*made);
    childs = relay->child_end();
  } else if (nowhere) {
    file.Reset(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    childs = file.number;
  }
  return {};
}

}  // namespace

struct Child::State {
  int pid = 0;
  int group = 0;  // 0: it is in ours
  int pidfd = -1;
  std::string cgroup;
  std::optional<ChildEnd> end;
  std::unique_ptr<Descendants> tree;
  ChildFile out_file, err_file;
  std::unique_ptr<OutputRelay> out, err;

  ~State() {
    if (pidfd >= 0) ::close(pidfd);
  }
  std::array<OutputRelay*, 2> Relays() const { return {out.get(), err.get()}; }
};

core::Result<std::unique_ptr<Child>> Child::Start(const ChildOptions& options) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto state = std::make_unique<State>();
  ChildStart start;
  const std::string mark = NewMark();
  RETURN_IF_ERROR(OpenOutput(options.out, STDOUT_FILENO, state->out_file, state->out, start.out));
  RETURN_IF_ERROR(OpenOutput(options.err, STDERR_FILENO, state->err_file, state->err, start.err));
  start.own_session = !(options.reads_stdin && InForeground());
  const auto pid = StartProcess(options, mark, start);
  RETURN_IF_ERROR(pid);
  for (OutputRelay* relay : state->Relays()) {
    if (relay != nullptr) relay->CloseChildEnd();
  }
  state->pid = *pid;
  state->group = start.own_session ? *pid : 0;
  state->cgroup = options.cgroup;
  state->pidfd = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
  if (state->pidfd >= 0) ::fcntl(state->pidfd, F_SETFD, FD_CLOEXEC);
  state->tree = std::make_unique<Descendants>(*pid, state->group, mark);
  return std::unique_ptr<Child>(new Child(std::move(state)));
}

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}

Child::~Child() {
  Stop(Seconds(0));
  ::waitpid(state_->pid, nullptr, WNOHANG);
}

int Child::pid() const { return state_->pid; }

const std::string& Child::cgroup() const { return state_->cgroup; }

std::vector<int> Child::Pids() { return state_->tree->Alive(); }

std::optional<ChildEnd> Child::Ended() {
  if (state_->end) return state_->end;
  // It stays a zombie until this object goes, so that its number cannot become another's.
  siginfo_t info{};
  const auto id = static_cast<id_t>(state_->pid);
  if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  ChildEnd end{.code = info.si_status, .signal = 0};
  if (info.si_code != CLD_EXITED) {
    end = {.code = 128 + info.si_status, .signal = info.si_status};
  }
  state_->end = end;
  return state_->end;
}

bool Child::shares_group() const { return state_->group == 0; }

void Child::Send(int signal) {
  for (OutputRelay* relay : state_->Relays()) {
    if (signal == SIGWINCH && relay != nullptr) relay->CopyWindowSize();
  }
  if (state_->group != 0) {
    ::kill(-state_->group, signal);
    return;
  }
  state_->tree->Signal(signal);
}

StopReport Child::Stop(Seconds grace) {
  Child* const self = this;
  const auto gone = [&](Seconds patience) {
    const auto begun = Clock::now();
    while (!Pids().empty()) {
      if (Since(begun) >= patience) return false;
      WaitForChildren({&self, 1}, kLook);
    }
    return true;
  };
  const auto send = [&](int signal) { state_->tree->Signal(signal); };
  StopReport report;
  if (Pids().empty()) return report;
  report.was_running = true;
  if (grace > Seconds(0)) {
    const auto begun = Clock::now();
    // The command alone at first: a training loop whose loader processes die before it does ends in
    // an error, not in a checkpoint.
    ::kill(state_->pid, SIGTERM);
    send(SIGCONT);  // one that was stopped must run to end
    while (!Ended() && Since(begun) < grace / 2) WaitForChildren({&self, 1}, kLook);
    send(SIGTERM);
    send(SIGCONT);
    if (gone(grace - Since(begun))) return report;
  }
  report.killed = true;
  // What forks while it is being killed needs another round.
  const auto begun = Clock::now();
  do {
    send(SIGKILL);
  } while (!gone(kLook) && Since(begun) < kKillPatience);
  return report;
}

void Child::Drain() {
  for (OutputRelay* relay : state_->Relays()) {
    // A receiver that takes nothing for so long is not going to.
    const auto begun = Clock::now();
    while (relay != nullptr && relay->Descriptor() >= 0 && Since(begun) < kKillPatience) {
      if (relay->Step()) continue;
      if (relay->Events() == POLLIN) break;
      pollfd wanted{.fd = relay->Descriptor(), .events = POLLOUT, .revents = 0};
      ::poll(&wanted, 1, 100);
    }
  }
}

struct ChildWait {
  std::vector<pollfd> wanted;
  std::vector<OutputRelay*> relays;
  bool ended = false, must_look = false;

  explicit ChildWait(std::span<Child* const> children) {
    const int signals = PassedSignals::Descriptor();
    wanted.push_back({.fd = signals, .events = POLLIN, .revents = 0});
    relays.push_back(nullptr);
    for (Child* child : children) {
      const Child::State& state = *child->state_;
      if (!state.end) {
        ended = ended || child->Ended().has_value();
        must_look = must_look || state.pidfd < 0;
        wanted.push_back({.fd = state.pidfd, .events = POLLIN, .revents = 0});
        relays.push_back(nullptr);
      }
      for (OutputRelay* relay : state.Relays()) {
        if (relay == nullptr || relay->Descriptor() < 0) continue;
        wanted.push_back({.fd = relay->Descriptor(), .events = relay->Events(), .revents = 0});
        relays.push_back(relay);
      }
    }
  }
};

void WaitForChildren(std::span<Child* const> children, Seconds most) {
  const auto begun = Clock::now();
  while (true) {
    ChildWait wait(children);
    if (wait.ended) return;
    const double left = (most - Since(begun)).value;
    const double pause = wait.must_look ? std::min(left, kLook.value) : left;
    const int milliseconds = std::max(0, static_cast<int>(std::min(pause, 60.0) * 1000 + 0.999));
    const int ready = ::poll(wait.wanted.data(), wait.wanted.size(), milliseconds);
    if (ready < 0) return;  // EINTR: a signal
    bool told = false;
    for (std::size_t i = 0; i < wait.wanted.size(); ++i) {
      if (wait.wanted[i].revents == 0) continue;
      if (wait.relays[i] != nullptr) {
        wait.relays[i]->Step();
      } else {
        told = true;
      }
    }
    if (told || Since(begun) >= most) return;
  }
}

}  // namespace sharewell::platform
