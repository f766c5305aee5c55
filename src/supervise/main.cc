// sharewell-supervise FOLDER: runs the command that a job's folder specifies, keeps its output,
// ends it when asked (SIGTERM) or when its time is over, and writes down how it ended. It holds the
// folder's lock as long as it lives, and depends on no other process.
//
// Exit: 0 the folder says how the command ended; 3 the folder is void or was used before; 4 nothing
// could be started, and the folder says no more.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "engine/local/run/job_files.h"
#include "supervise/detach.h"
#include "supervise/folder.h"
#include "supervise/log.h"
#include "supervise/spec.h"
#include "supervise/start.h"
#include "supervise/steps.h"
#include "supervise/terminal.h"
#include "supervise/tree.h"

namespace sharewell::supervise {
namespace {

using Millis = std::int64_t;
constexpr Millis kNever = INT64_MAX;
constexpr Millis kKillEvery = 20;
constexpr Millis kLeftoverGrace = 5'000;  // for what the command has left behind, at most
constexpr Millis kLookAgain = 200;        // whether a paused command's time is over
constexpr Millis kWriteEvery = 500;       // while the disk is full
constexpr int kMostDrain = 256;           // blocks

Millis Clock(clockid_t which) {
  timespec now{};
  ::clock_gettime(which, &now);
  return static_cast<Millis>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}
Millis Now() { return Clock(CLOCK_MONOTONIC); }

struct Supervisor {
  int folder = -1, signals = -1;
  Spec spec;
  Started command;
  LogRoom room;
  Log out, err;
  Terminal terminal;
  const char* terminal_became = "";  // of engine::kTerminal...; nothing to tell
  Steps steps;
  Millis next_steps = 0;
  char oom_score[16] = {};
  Millis begun = 0, begun_wall = 0;
  Millis time_over = kNever, term_all = kNever, kill_all = kNever;
  bool ended = false, timed_out = false, told_all = false, killed = false;
  bool asked = false;    // to end
  bool stopped = false;  // asked while the command ran
  int status = 0;
  rusage used{};
  Failure failure{{}, 0};
};

// As a shell has it.
int CodeOf(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool TellExit(const Supervisor& self) {
  const int status = self.status;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const auto millis = [](const timeval& t) {
    return static_cast<long long>(t.tv_sec) * 1000 + t.tv_usec / 1000;
  };
  const Millis now = Now(), ran = now - self.begun - PausedMillis(self.folder, now);
  char text[1024], failed[64] = "", terminal[64] = "";
  if (self.failure.where[0] != 0) {
    std::snprintf(failed, sizeof failed, "failed %s\nerror %d\n", self.failure.where,
                  self.failure.error);
  }
  if (self.terminal_became[0] != 0) {
    std::snprintf(terminal, sizeof terminal, "terminal %s\n", self.terminal_became);
  }
  const int n = std::snprintf(
      text, sizeof text,
      "%s\ncode %d\nsignal %d\ntimed_out %d\nstopped %d\nkilled %d\n%s%sbegun_ms %lld\nended_ms "
      "%lld\n"
      "ran_ms %lld\ncpu_ms %lld\nmost_memory_kib %ld\nlost_output %lld\nend\n",
      engine::kExitHead, CodeOf(status), signal, self.timed_out ? 1 : 0, self.stopped ? 1 : 0,
      self.killed ? 1 : 0, failed, terminal, static_cast<long long>(self.begun_wall),
      static_cast<long long>(Clock(CLOCK_REALTIME)), static_cast<long long>(ran > 0 ? ran : 0),
      millis(self.used.ru_utime) + millis(self.used.ru_stime), self.used.ru_maxrss,
      static_cast<long long>(self.out.lost_in_all) + static_cast<long long>(self.err.lost_in_all));
  return WriteExit(self.folder, text, n);
}

// The kernel ends others before us. The command has the score that we were given, unless that keeps
// it: a server's unit protects the server, and a job must not outlive the rest of the machine.
void KeepFromOomKiller(Supervisor& self) {
  const int file = ::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t n = ::read(file, self.oom_score, sizeof self.oom_score - 1);
  if (n <= 0) self.oom_score[0] = 0;
  if (self.oom_score[0] == '-') std::strcpy(self.oom_score, "0");
  [[maybe_unused]] const auto ignored = ::pwrite(file, "-900", 4, 0);
  ::close(file);
}

void WriteTo(const char* path, const char* text) {
  const int file = path == nullptr ? -1 : ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const auto ignored = ::write(file, text, std::strlen(text));
  ::close(file);
}

void AskToEnd(Supervisor& self, Millis grace, bool stopped, bool timed_out) {
  const Millis now = Now(), kill_at = now + grace;
  if (kill_at < self.kill_all) self.kill_all = kill_at;
  if (self.asked) return;
  self.asked = true;
  self.stopped = stopped;
  self.timed_out = timed_out;
  self.term_all = now + grace / 2;
  // The command alone at first: a training loop whose loader processes die before it does ends in
  // an error, not in a checkpoint.
  // Shells at a terminal ignore SIGTERM and end when they are hung up.
  if (!self.ended) ::kill(self.command.pid, self.spec.terminal ? SIGHUP : SIGTERM);
  SignalTree(SIGCONT);  // one that was stopped must run to end
}

void TellAll(Supervisor& self) {
  self.told_all = true;
  SignalTree(SIGTERM);
  SignalTree(SIGCONT);
}

void KillAll(Supervisor& self) {
  // What is still there the second time forks faster than we kill, and may not any more.
  if (self.killed) WriteTo(self.spec.no_forks, "0");
  self.killed = true;
  WriteTo(self.spec.kill_all, "1");
  SignalTree(SIGKILL);
}

// False: nothing is left.
bool Reap(Supervisor& self) {
  while (true) {
    int status = 0;
    rusage used{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &used);
    if (pid == self.command.pid) {
      self.ended = true;
      self.status = status;
      self.used = used;
    }
    if (pid == 0) return true;
    if (pid < 0 && errno != EINTR) return false;
  }
}

// True while there may be more.
bool Pass(int& from, Log& to) {
  static char block[65536];
  if (from < 0) return false;
  const ssize_t n = ::read(from, block, sizeof block);
  if (n > 0) {
    WriteLog(to, block, static_cast<std::size_t>(n));
    return true;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  ::close(from);
  from = -1;
  return false;
}

void SeeStart(Supervisor& self) {
  Failure failure{{}, 0};
  const ssize_t n = ::read(self.command.failure, &failure, sizeof failure);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  ::close(self.command.failure);
  self.command.failure = -1;
  if (n == static_cast<ssize_t>(sizeof failure)) {
    self.failure = failure;
  } else {
    WriteStarted(self.folder, self.command.pid);
  }
}

void SeeSignals(Supervisor& self) {
  signalfd_siginfo info{};
  while (::read(self.signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGTERM) continue;
    const bool told = info.ssi_code == SI_QUEUE && info.ssi_int >= 0;
    // The server tells us alone: a command that was gone by then came to its own end. A machine
    // that is shut down tells the command too, which may have been quicker than we are.
    if (told) Reap(self);
    AskToEnd(self, told ? info.ssi_int : self.spec.grace_ms, !told || !self.ended, false);
  }
}

void HangUp(Supervisor& self) {
  if (!self.terminal.gone || self.asked) return;
  self.terminal_became = engine::kTerminalClosed;
  AskToEnd(self, self.spec.grace_ms, true, false);
}

// The server may have given it more time, and what it was paused for does not count: that is looked
// at when it matters. False: its time is over.
bool Extend(Supervisor& self, Millis now) {
  if (self.asked || self.ended) return false;
  const Millis given = ReadLimit(self.folder);
  const bool more = given > self.spec.time_limit_ms && given < kNever - self.begun;
  const Millis limit = more ? given : self.spec.time_limit_ms;
  const Millis over = self.begun + limit + PausedMillis(self.folder, now);
  if (over <= now) return false;
  self.time_over = over - now < kLookAgain ? now + kLookAgain : over;
  return true;
}

void Act(Supervisor& self) {
  const Millis now = Now();
  HangUp(self);
  if (now >= self.time_over && !Extend(self, now)) {
    self.time_over = kNever;
    if (!self.asked && !self.ended) {
      AskToEnd(self, self.spec.grace_ms, true, true);
      WriteEnding(self.folder);
    }
  }
  if (!self.told_all && (self.ended || now >= self.term_all)) {
    TellAll(self);
    const Millis grace = self.spec.grace_ms < kLeftoverGrace ? self.spec.grace_ms : kLeftoverGrace;
    if (self.ended && now + grace < self.kill_all) self.kill_all = now + grace;
  }
  if (now >= self.kill_all) KillAll(self);
}

int Patience(const Supervisor& self) {
  const Millis now = Now();
  Millis next = self.time_over < self.kill_all ? self.time_over : self.kill_all;
  if (!self.told_all && self.term_all < next) next = self.term_all;
  if (now < self.next_steps && self.next_steps < next) next = self.next_steps;
  if (const Millis wakes = TerminalWakes(self.terminal); wakes >= 0 && wakes < next) next = wakes;
  if (next == kNever) return -1;
  const Millis wait = self.killed ? kKillEvery : next - now;
  return wait < 0 ? 0 : static_cast<int>(wait < 60'000 ? wait : 60'000);
}

// Until nothing of the command is left.
void Watch(Supervisor& self) {
  while (Reap(self)) {
    Act(self);
    const bool rests = Now() < self.next_steps;
    pollfd wanted[] = {{self.signals, POLLIN, 0},
                       {self.command.failure, POLLIN, 0},
                       {self.command.out, POLLIN, 0},
                       {self.command.err, POLLIN, 0},
                       {rests ? -1 : self.steps.pipe, POLLIN, 0},
                       {rests ? -1 : self.steps.watch, POLLIN, 0},
                       {rests ? -1 : self.steps.metrics, POLLIN, 0},
                       {},
                       {},
                       {}};
    WantOfTerminal(self.terminal, wanted + 7);
    ::poll(wanted, 7 + kTerminalFiles, Patience(self));
    if (wanted[1].revents != 0) SeeStart(self);
    if (wanted[0].revents != 0) SeeSignals(self);
    if (wanted[2].revents != 0) Pass(self.command.out, self.out);
    if (wanted[3].revents != 0) Pass(self.command.err, self.err);
    if (wanted[4].revents != 0 || wanted[5].revents != 0 || wanted[6].revents != 0) {
      ReadSteps(self.steps, Clock(CLOCK_REALTIME));
      self.next_steps = Now() + kStepsEvery;
    }
    SeeTerminal(self.terminal, wanted + 7, self.out);
  }
  if (self.command.failure >= 0) SeeStart(self);
  // A pipe may have been passed on to a process outside: what is in it is read, no more.
  for (int i = 0; i < kMostDrain && Pass(self.command.out, self.out); ++i) {
  }
  for (int i = 0; i < kMostDrain && Pass(self.command.err, self.err); ++i) {
  }
  ReadSteps(self.steps, Clock(CLOCK_REALTIME));
}

// The command begins when somebody sits at its terminal. False: it is not to be started.
bool AwaitClient(Supervisor& self) {
  const auto end = [&](const char* became, int status) {
    self.terminal_became = became;
    self.stopped = true;
    self.status = status;
    return false;
  };
  if (!OpenTerminal(self.folder, self.spec, self.terminal)) {
    self.failure.error = errno;
    std::strcpy(self.failure.where, engine::kFailedTerminal);
    self.status = 126 << 8;
    return false;
  }
  Millis until = self.begun + engine::kTerminalPatienceMs;
  if (self.time_over < until) until = self.time_over;
  while (!self.terminal.begun) {
    if (self.terminal.gone) return end(engine::kTerminalClosed, SIGHUP);
    const Millis now = Now();
    if (now >= until) return end(engine::kTerminalUnused, SIGHUP);
    pollfd wanted[1 + kTerminalFiles] = {{self.signals, POLLIN, 0}, {}, {}, {}};
    WantOfTerminal(self.terminal, wanted + 1);
    const Millis wakes = TerminalWakes(self.terminal);
    const Millis next = wakes >= 0 && wakes < until ? wakes : until;
    ::poll(wanted, 1 + kTerminalFiles, static_cast<int>(next > now ? next - now : 0));
    signalfd_siginfo info{};
    while (::read(self.signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGTERM) return end("", SIGTERM);
    }
    SeeTerminal(self.terminal, wanted + 1, self.out);
  }
  return true;
}

// Where the job's folder was removed, no server will ever look after its groups.
void RemoveGroups(const Spec& spec) {
  for (std::size_t i = 0; i < spec.groups_to_enter.count; ++i) {
    char* path = spec.groups_to_enter.words[i];
    char* last = std::strrchr(path, '/');
    if (last == nullptr || last == path) continue;
    *last = 0;
    ::rmdir(path);
  }
}

int Run(const char* path) {
  Supervisor self;
  Detach();
  if (const int refused = Claim(path, self.folder); refused != 0) return refused;
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGCHLD);
  self.signals = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (self.signals < 0 || !ReadSpec(self.folder, self.spec) || ::chdir("/") != 0) return kCannot;
  const int logs =
      self.spec.logs == nullptr ? -1 : ::open(self.spec.logs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  OpenRoom(self.spec, logs, self.room);
  OpenLog(self.room, "out", self.spec.log_limit, self.out);
  OpenLog(self.room, "err", self.spec.log_limit, self.err);
  self.out.other = &self.err;
  self.err.other = &self.out;
  KeepFromOomKiller(self);
  if (!OpenSteps(self.folder, self.steps)) return kCannot;
  // From here on the command may have run: no other supervisor will begin it.
  if (!Begin(self.folder)) return kCannot;
  self.begun = Now();
  self.begun_wall = Clock(CLOCK_REALTIME);
  if (self.spec.time_limit_ms > 0) self.time_over = self.begun + self.spec.time_limit_ms;
  signalfd_siginfo early{};
  if (::read(self.signals, &early, sizeof early) > 0 && early.ssi_signo == SIGTERM) {
    self.stopped = true;  // before it was begun
    self.status = SIGTERM;
  } else if (self.spec.terminal && !AwaitClient(self)) {
    CloseTerminal(self.terminal);
  } else if (StartCommand(self.spec, self.oom_score, self.terminal.slave, self.command)) {
    Watch(self);
    DrainTerminal(self.terminal, self.out);
    SeeSignals(self);  // one that came with the command's own end
    if (self.killed || WIFSIGNALED(self.status)) RunCleanup(self.spec, self.oom_score);
  } else {
    self.failure.error = errno;
    std::strcpy(self.failure.where, engine::kFailedFork);
    self.status = 126 << 8;
  }
  CloseLog(self.out);
  CloseLog(self.err);
  while (!TellExit(self)) {
    if (IsGone(self.folder)) {
      RemoveGroups(self.spec);
      return kCannot;
    }
    ::poll(nullptr, 0, kWriteEvery);
  }
  SendToClient(self.terminal, CodeOf(self.status), self.stopped || self.failure.where[0] != 0);
  return 0;
}

}  // namespace
}  // namespace sharewell::supervise

int main(int argc, char** argv) {
  if (argc != 2) {
    [[maybe_unused]] const auto ignored =
        ::write(STDERR_FILENO, "usage: sharewell-supervise FOLDER\n", 34);
    return 2;
  }
  return sharewell::supervise::Run(argv[1]);
}
