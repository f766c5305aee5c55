#include "engine/local/run_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>
#include <vector>

#include "engine/local/run/job_files.h"
#include "engine/local/run/supervised.h"
#include "engine/local/run_setup.h"
#include "engine/local/run_spec.h"
#include "platform/process/cpu_set.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr std::size_t kLastWords = 4096;  // of each stream
constexpr int kMostDocuments = 8;         // of what a run tells; more are not read

bool IsPipe(const std::string& folder, const char* name) {
  struct stat state {};
  const std::string path = folder + "/" + name;
  return ::lstat(path.c_str(), &state) == 0 && S_ISFIFO(state.st_mode);
}

// A run that an earlier version started has a file of its user's there, which is not read.
bool CountsSteps(const std::string& folder) { return IsPipe(folder, kProgressFile); }

bool SaidItsGpuWasFull(const LocalRun& run) {
  for (const auto stream : {LogStream::kErr, LogStream::kOut}) {
    const auto last = ReadLog(run.logs, stream, -static_cast<std::int64_t>(kLastWords), kLastWords);
    if (SaysGpuIsFull(last.bytes)) return true;
  }
  return false;
}

RunEnd HowItEnded(LocalRun& run) {
  RunEnd end;
  const auto exit = ReadExit(run.folder);
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
    const auto spec = ReadSpec(run.folder);
    end.message = StartFailure(*exit, spec ? *spec : JobSpec());
    return end;
  }
  if (exit->stopped && !run.command) end.message = "it was stopped before it began";
  if (exit->terminal == kTerminalClosed) end.message = "its terminal was closed";
  if (exit->terminal == kTerminalUnused) {
    end.message = fmt::format("nobody connected to its terminal within {} s, so it was not started",
                              kTerminalPatienceMs / 1000);
  }
  if (end.exit_code != 0 && !run.request.gpus.empty()) end.out_of_memory = SaidItsGpuWasFull(run);
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

}  // namespace

void RunWatch::Begin(LocalRun& run) {
  if (run.supervisor > 0) {
    run.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, run.supervisor, 0));
    if (run.pidfd >= 0) ::fcntl(run.pidfd, F_SETFD, FD_CLOEXEC);
  } else {
    run.pidfd = OpenSupervisor(run.folder);
  }
  if (run.pidfd >= 0) signals_.WatchProcess(run);  // else looked at once a second
}

void RunWatch::Adopt(RunId id, const JobSpec& spec) {
  LocalRun& run = book_.runs[id];
  run.request = RequestIn(spec);
  run.made = true;
  run.folder = JobFolder(book_.options.state, id.job, id.attempt);
  run.logs = book_.LogsOf(run.request);
  // An earlier version named logs by the number alone. Its supervisor holds the folder, not a path.
  const std::string logs(spec.Get("logs").value_or(run.logs));
  if (logs == fmt::format("{}/logs/{}", book_.options.state, id.job) && MakeLogFolder(run.logs)) {
    ::rename(logs.c_str(), run.logs.c_str());
  }
  if (const auto row = spec.Number("log_row")) {
    run.log_row = static_cast<int>(*row);
    book_.ledger->Claim(run.log_row, run.logs, run.request.user.uid);
  }
  run.group = book_.home->Again(book_.GroupName(id));
  run.pipes = spec.Get("pipes").value_or("");
  run.mps = !run.pipes.empty();
  run.watched = IsPipe(run.folder, kWatchFile);
  if (ReadPause(run.folder).state != PauseState::State::kPaused) {
    const auto cpus = platform::ParseCpus(spec.Get("given_cpus").value_or(""));
    cpus_.Claim(run, cpus.value_or(std::vector<int>()));
  }
  if (book_.sharing) book_.sharing->Rejoin(run.request, run.pipes);
  signals_.WatchFolder(run);
  Begin(run);
  LookAtStart(run);
  if (run.command && run.request.cores > 0) run.lent = platform::AllowedCpus(*run.command);
  EndIfGone(run);
}

void RunWatch::LookAtFolder(LocalRun& run) {
  LookAtStart(run);
  LookAtEnding(run);
}

void RunWatch::LookAtStart(LocalRun& run) {
  if (run.command || run.ended) return;
  run.command = ReadStarted(run.folder);
  if (!run.command) return;
  run.since = book_.Now();
  if (!run.request.asked.time_limit) signals_.LeaveFolder(run);
  if (run.forgotten) return;
  book_.Emit(RunStarted{run.request.id});
  if (!CountsSteps(run.folder)) {
    book_.Emit(RunNote{run.request.id,
                       "its steps are not counted: an earlier version of the server started it"});
  }
}

void RunWatch::LookAtProgress(LocalRun& run) {
  if (!run.command || run.forgotten) return;
  const auto steps = ReadSteps(run.folder);
  if (!steps || *steps == run.steps) return;
  run.told_once = run.steps == 0 && *steps > 0;
  run.steps = *steps;
  const bool by_watcher = run.watched && !run.told_lines.by_report_step();
  book_.Emit(RunProgress{run.request.id, *steps, {}, by_watcher});
}

void RunWatch::LookAtMetrics(LocalRun& run) {
  if (!run.command || run.forgotten) return;
  auto metrics = ReadMetrics(run.folder);
  if (!metrics || *metrics == run.metrics) return;
  run.metrics = *metrics;
  book_.Emit(RunMetrics{run.request.id, std::move(*metrics)});
}

// What is new in it. The file is ours and bounded, and so is what is read of it in all.
void RunWatch::LookAtTold(LocalRun& run) {
  if (!run.watched || !run.command || run.forgotten) return;
  const std::string bytes = ReadTold(run.folder, run.told_bytes);
  if (bytes.empty()) return;
  run.told_bytes += bytes.size();
  run.told_lines.Read(bytes);
  auto document = run.told_lines.TakeDocument();
  if (document && run.documents++ < kMostDocuments) {
    book_.Emit(RunTold{run.request.id, *std::move(document), {}});
  }
  if (const std::string& why = run.told_lines.off(); !why.empty() && !run.told_off) {
    run.told_off = true;
    book_.Emit(RunTold{run.request.id, {}, why});
  }
}

void RunWatch::LookAtEnding(LocalRun& run) {
  if (!run.request.asked.time_limit || !run.command || run.ending || run.ended) return;
  run.ending = ::access((run.folder + "/" + kEndingFile).c_str(), F_OK) == 0;
  if (run.ending && !run.forgotten) book_.Emit(TimeLimitReached{run.request.id});
}

void RunWatch::LookAtFirstSteps() {
  for (auto& [id, run] : book_.runs) {
    if (run.told_once && !run.ended) LookAtProgress(run);
  }
}

bool RunWatch::any_first_steps() const {
  return std::any_of(book_.runs.begin(), book_.runs.end(),
                     [](const auto& run) { return run.second.told_once && !run.second.ended; });
}

void RunWatch::LookAtAll() {
  std::vector<RunId> going;
  for (const auto& [id, run] : book_.runs) {
    if (!run.ended) going.push_back(id);
  }
  for (const RunId& id : going) {
    LocalRun& run = book_.runs.at(id);
    LookAtStart(run);
    LookAtTold(run);
    LookAtProgress(run);
    LookAtMetrics(run);
    LookAtEnding(run);
    if (run.pidfd >= 0 || run.waits) continue;
    if (run.supervisor == 0) Begin(run);
    EndIfGone(run);
  }
}

void RunWatch::EndIfGone(LocalRun& run) {
  if (run.ended || run.waits) return;
  int status = 0;
  if (run.supervisor > 0) {
    const pid_t pid = ::waitpid(run.supervisor, &status, WNOHANG);
    if (pid == 0) return;
    run.supervisor = 0;
  }
  const JobLife life = LifeOf(run.folder);
  if (life == JobLife::kAlive) return;
  LookAtStart(run);
  LookAtTold(run);
  LookAtProgress(run);
  LookAtMetrics(run);
  if (life == JobLife::kNever) {
    return Finish(run, {.exit_code = 126,
                        .message = fmt::format("it could not be begun in {}: is the disk full?",
                                               run.folder)});
  }
  if (life == JobLife::kLost) {
    // The kernel has killed the command with its supervisor; what it had started may be left.
    for (int i = 0; run.group && i < 10 && run.group->KillAll() > 0; ++i) ::usleep(10'000);
    KillMarked(run.folder);
  }
  Finish(run, HowItEnded(run));
}

void RunWatch::Finish(LocalRun& run, RunEnd end) {
  const RunId id = run.request.id;
  run.ended = true;
  run.waits = false;
  run.spec.reset();
  signals_.LeaveFolder(run);
  signals_.LeaveProcess(run);
  MarkLogs(run.logs);
  book_.ledger->End(run.log_row);
  if (run.group && !run.group->TryRemove()) book_.leaving.push_back(std::move(run.group));
  run.group.reset();
  cpus_.Return(id);
  if (book_.sharing) book_.sharing->Leave(id);
  falls_.Handle(run, std::move(end));
}

void RunWatch::Signal(const LocalRun& run, Seconds grace) {
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
  } else if (const int again = OpenSupervisor(run.folder); again >= 0) {
    ::syscall(SYS_pidfd_send_signal, again, SIGTERM, &info, 0);
    ::close(again);
  }
}

}  // namespace sharewell::engine
