#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "engine/local/fell_together.h"
#include "engine/local/gpu_faults.h"
#include "engine/local/linux_runner_impl.h"
#include "engine/local/run/job_files.h"
#include "engine/local/run_spec.h"
#include "platform/process/cpu_set.h"

namespace sharewell::engine {
namespace {

using core::Seconds;

constexpr std::size_t kLastWords = 4096;  // of each stream
constexpr int kMostSignals = 256;         // taken at a time
constexpr Seconds kBlameSince{60};        // a fault long before an end was not its reason

// The clock of the kernel's log.
Seconds MonotonicNow() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Seconds(static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
}

// A run that an earlier version started has a file of its user's there, which is not read.
bool CountsSteps(const std::string& folder) {
  struct stat state {};
  const std::string path = folder + "/" + engine::kProgressFile;
  return ::lstat(path.c_str(), &state) == 0 && S_ISFIFO(state.st_mode);
}

}  // namespace

void LinuxRunner::Impl::Watch(Run& run) {
  if (run.supervisor > 0) {
    run.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, run.supervisor, 0));
    if (run.pidfd >= 0) ::fcntl(run.pidfd, F_SETFD, FD_CLOEXEC);
  } else {
    run.pidfd = engine::OpenSupervisor(run.folder);
  }
  if (run.pidfd < 0) return;  // looked at once a second
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = run.pidfd;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, run.pidfd, &event);
  by_pidfd[run.pidfd] = run.request.id;
}

void LinuxRunner::Impl::Adopt(const RunId& id, const engine::JobSpec& spec) {
  Run& run = runs[id];
  run.request = RequestIn(spec);
  run.made = true;
  run.folder = engine::JobFolder(options.state, id.job, id.attempt);
  run.logs = LogsOf(run.request);
  // An earlier version named logs by the number alone. Its supervisor holds the folder, not a path.
  const std::string logs(spec.Get("logs").value_or(run.logs));
  if (logs == fmt::format("{}/logs/{}", options.state, id.job) && engine::MakeLogFolder(run.logs)) {
    ::rename(logs.c_str(), run.logs.c_str());
  }
  if (const auto row = spec.Number("log_row")) {
    run.log_row = static_cast<int>(*row);
    ledger->Claim(run.log_row, run.logs, run.request.user.uid);
  }
  run.group = home->Again(GroupName(id));
  run.mps = !spec.Get("pipes").value_or("").empty();
  if (room && ReadPause(run.folder).state != PauseState::State::kPaused) {
    std::optional<int> node;
    const auto& gpus = run.request.gpus;
    if (!gpus.empty() && options.gpu_nodes.contains(gpus.front().uuid)) {
      node = options.gpu_nodes.at(gpus.front().uuid);
    }
    const auto cpus = platform::ParseCpus(spec.Get("given_cpus").value_or(""));
    room->Claim(id, cpus.value_or(std::vector<int>()), run.request.cores, !gpus.empty(), node);
  }
  run.pipes = spec.Get("pipes").value_or("");
  if (sharing) sharing->Rejoin(run.request, run.pipes);
  if (inotify >= 0) run.watch = ::inotify_add_watch(inotify, run.folder.c_str(), IN_MOVED_TO);
  if (run.watch >= 0) by_watch[run.watch] = id;
  Watch(run);
  LookAtStart(run);
  if (run.command && run.request.cores > 0) run.lent = platform::AllowedCpus(*run.command);
  EndIfGone(run);
}

void LinuxRunner::Impl::LookAtStart(Run& run) {
  if (run.command || run.ended) return;
  run.command = engine::ReadStarted(run.folder);
  if (!run.command) return;
  run.since = Now();
  if (run.watch >= 0 && !run.request.asked.time_limit) {
    ::inotify_rm_watch(inotify, run.watch);
    by_watch.erase(run.watch);
    run.watch = -1;
  }
  if (run.forgotten) return;
  Tell(RunStarted{run.request.id});
  if (!CountsSteps(run.folder)) {
    Tell(RunNote{run.request.id,
                 "its steps are not counted: an earlier version of the server started it"});
  }
}

void LinuxRunner::Impl::LookAtProgress(Run& run) {
  if (!run.command || run.forgotten) return;
  const auto steps = engine::ReadSteps(run.folder);
  if (!steps || *steps == run.steps) return;
  run.steps = *steps;
  Tell(RunProgress{run.request.id, *steps});
}

void LinuxRunner::Impl::LookAtEnding(Run& run) {
  if (!run.request.asked.time_limit || !run.command || run.ending || run.ended) return;
  run.ending = ::access((run.folder + "/" + engine::kEndingFile).c_str(), F_OK) == 0;
  if (run.ending && !run.forgotten) Tell(TimeLimitReached{run.request.id});
}

RunEnd LinuxRunner::Impl::HowItEnded(Run& run) {
  RunEnd end;
  const auto exit = engine::ReadExit(run.folder);
  if (!exit) {
    end.exit_code = 128 + SIGKILL;
    end.lost = true;
    end.message = "its supervisor was killed, or the machine went down";
    return end;
  }
  end.exit_code = exit->code;
  end.signal = exit->signal;
  end.timed_out = exit->timed_out;
  end.stopped = exit->stopped && !exit->timed_out;
  end.ran = exit->ran;
  run.ended_at = exit->ended_ms;
  if (!exit->failed.empty()) {
    const auto spec = engine::ReadSpec(run.folder);
    end.message = StartFailure(*exit, spec ? *spec : engine::JobSpec());
    return end;
  }
  if (exit->stopped && !run.command) end.message = "it was stopped before it began";
  if (exit->terminal == engine::kTerminalClosed) end.message = "its terminal was closed";
  if (exit->terminal == engine::kTerminalUnused) {
    end.message = fmt::format("nobody connected to its terminal within {} s, so it was not started",
                              engine::kTerminalPatienceMs / 1000);
  }
  if (end.exit_code != 0 && !run.request.gpus.empty()) {
    for (const auto stream : {engine::LogStream::kErr, engine::LogStream::kOut}) {
      const auto last =
          engine::ReadLog(run.logs, stream, -static_cast<std::int64_t>(kLastWords), kLastWords);
      end.out_of_memory = end.out_of_memory || SaysGpuIsFull(last.bytes);
    }
  }
  if (end.exit_code != 0 && run.request.asked.memory && run.group && run.group->MemoryKilled()) {
    end.message = fmt::format("it used more host memory than its limit of {:.0f} MiB",
                              run.request.asked.memory->value / (1 << 20));
  }
  if (exit->lost_output.value > 0) {
    end.message += fmt::format("{}{:.0f} bytes of its output could not be kept",
                               end.message.empty() ? "" : "; ", exit->lost_output.value);
  }
  return end;
}

void LinuxRunner::Impl::EndIfGone(Run& run) {
  if (run.ended || run.waits) return;
  int status = 0;
  if (run.supervisor > 0) {
    const pid_t pid = ::waitpid(run.supervisor, &status, WNOHANG);
    if (pid == 0) return;
    run.supervisor = 0;
  }
  const JobLife life = engine::LifeOf(run.folder);
  if (life == JobLife::kAlive) return;
  LookAtStart(run);
  LookAtProgress(run);
  if (life == JobLife::kNever) {
    return Finish(run, {.exit_code = 126,
                        .message = fmt::format("it could not be begun in {}: is the disk full?",
                                               run.folder)});
  }
  if (life == JobLife::kLost) {
    // The kernel has killed the command with its supervisor; what it had started may be left.
    for (int i = 0; run.group && i < 10 && run.group->KillAll() > 0; ++i) ::usleep(10'000);
    engine::KillMarked(run.folder);
  }
  Finish(run, HowItEnded(run));
}

void LinuxRunner::Impl::Finish(Run& run, RunEnd end) {
  const RunId id = run.request.id;
  run.ended = true;
  run.waits = false;
  run.spec.reset();
  if (run.watch >= 0) {
    ::inotify_rm_watch(inotify, run.watch);
    by_watch.erase(run.watch);
    run.watch = -1;
  }
  if (run.pidfd >= 0) {
    by_pidfd.erase(run.pidfd);
    ::close(run.pidfd);
    run.pidfd = -1;
  }
  engine::MarkLogs(run.logs);
  ledger->End(run.log_row);
  if (run.group && !run.group->TryRemove()) leaving.push_back(std::move(run.group));
  run.group.reset();
  if (room) room->Return(id);
  if (sharing) sharing->Leave(id);
  if (!run.forgotten && !run.pipes.empty() && MayBeAFall(end)) {
    run.unjudged = std::move(end);
    run.judged_by = Now() + options.fall_patience;
    unjudged = true;
    return;
  }
  TellEnd(run, std::move(end));
}

void LinuxRunner::Impl::JudgeFalls() {
  if (!std::exchange(unjudged, false)) return;
  std::map<std::string, std::vector<Run*>> by_daemon;
  for (auto& [id, run] : runs) {
    if (run.unjudged) by_daemon[run.pipes].push_back(&run);
  }
  for (const auto& one_daemon : by_daemon) {
    const std::string& pipes = one_daemon.first;
    const std::vector<Run*>& fallen = one_daemon.second;
    const bool neighbours = std::any_of(runs.begin(), runs.end(), [&](const auto& one) {
      return !one.second.ended && one.second.pipes == pipes;
    });
    const bool late = std::any_of(fallen.begin(), fallen.end(),
                                  [&](const Run* run) { return Now() >= run->judged_by; });
    if (neighbours && !late) {
      unjudged = true;
      continue;
    }
    std::vector<MpsEnd> ends;
    std::set<int> blamed;
    if (fallen.size() > 1) {
      blamed = BlamedProcesses(options.kernel_log, MonotonicNow() - kBlameSince);
    }
    for (const Run* run : fallen) {
      ends.push_back(
          {run->request.id, pipes, run->ended_at, run->command && blamed.contains(*run->command)});
    }
    const auto falls = FellTogether(ends);
    for (std::size_t i = 0; i < fallen.size(); ++i) {
      RunEnd end = std::move(*fallen[i]->unjudged);
      fallen[i]->unjudged.reset();
      end.fall = falls[i];
      TellEnd(*fallen[i], std::move(end));
    }
  }
}

void LinuxRunner::Impl::TellEnd(Run& run, RunEnd end) {
  const RunId id = run.request.id;
  if (!run.forgotten) {
    Tell(RunEnded{id, std::move(end)});
    return;
  }
  if (run.made) RemoveFolder(run.folder);
  runs.erase(id);
}

void LinuxRunner::Impl::Look() {
  looked = Now();
  JudgeFalls();
  std::vector<RunId> going;
  for (const auto& [id, run] : runs) {
    if (!run.ended) going.push_back(id);
  }
  for (const RunId& id : going) {
    Run& run = runs.at(id);
    LookAtStart(run);
    LookAtProgress(run);
    LookAtEnding(run);
    if (run.pidfd >= 0 || run.waits) continue;
    if (run.supervisor == 0) Watch(run);
    EndIfGone(run);
  }
  LookAtPausers();
  LendCpus();
  std::erase_if(leaving, [](const auto& group) { return group->TryRemove(); });
  if (options.lost_gpus) {
    const auto now_lost = options.lost_gpus();
    for (const auto& [gpu, why] : now_lost) {
      if (!lost.contains(gpu)) Tell(GpuLost{gpu, why});
    }
    for (const auto& [gpu, why] : lost) {
      if (!now_lost.contains(gpu)) Tell(GpuBack{gpu});
    }
    lost = now_lost;
  }
  if (!sharing) return;
  for (GpuSharing::News& news : sharing->Look()) Tell(RunnerNote{std::move(news.text)});
}

void LinuxRunner::Impl::TakeSignals(int timeout_ms) {
  epoll_event events[kMostSignals];
  const int count = ::epoll_wait(epoll, events, kMostSignals, timeout_ms);
  for (int i = 0; i < count; ++i) {
    const int file = events[i].data.fd;
    if (file == wake) {
      std::uint64_t ignored = 0;
      woken = ::read(wake, &ignored, sizeof ignored) > 0 || woken;
    } else if (file == errand_over) {
      std::uint64_t ignored = 0;
      [[maybe_unused]] const auto got = ::read(errand_over, &ignored, sizeof ignored);
      TakeErrands();
    } else if (file == inotify) {
      alignas(inotify_event) char room_for[16384];
      const ssize_t n = ::read(inotify, room_for, sizeof room_for);
      for (ssize_t at = 0; at < n;) {
        inotify_event event{};
        std::memcpy(&event, room_for + at, sizeof event);
        at += static_cast<ssize_t>(sizeof event + event.len);
        const auto it = by_watch.find(event.wd);
        if (it == by_watch.end()) continue;
        Run& run = runs.at(it->second);
        LookAtStart(run);
        LookAtEnding(run);
      }
    } else if (const auto it = by_pidfd.find(file); it != by_pidfd.end()) {
      EndIfGone(runs.at(it->second));
    } else {
      LookAtPausers();
    }
  }
}

void LinuxRunner::Impl::Signal(const Run& run, Seconds grace) {
  siginfo_t info{};
  info.si_signo = SIGTERM;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = static_cast<int>(std::clamp(grace.value * 1e3, 0.0, 2e9));
  if (run.pidfd >= 0) {
    ::syscall(SYS_pidfd_send_signal, run.pidfd, SIGTERM, &info, 0);
  } else if (run.supervisor > 0) {
    ::sigqueue(run.supervisor, SIGTERM, info.si_value);
  } else if (const int again = engine::OpenSupervisor(run.folder); again >= 0) {
    ::syscall(SYS_pidfd_send_signal, again, SIGTERM, &info, 0);
    ::close(again);
  }
}

void LinuxRunner::Impl::RemoveFolder(const std::string& folder) const {
  // The spec first: a supervisor that comes late has nothing to begin then, whatever else is gone.
  ::unlink((folder + "/" + engine::kSpecFile).c_str());
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

}  // namespace sharewell::engine
