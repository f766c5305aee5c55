#include "engine/local/run_pauses.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <utility>

#include "core/text/words.h"
#include "engine/local/run/job_folder.h"
#include "engine/local/run/supervised.h"

namespace sharewell::engine {
namespace {

using core::Bytes;

constexpr double kGiB = 1024.0 * 1024 * 1024;
// Of host memory that a pause leaves free, for the page cache and what jobs still ask for.
constexpr double kLeastFree = 2 * kGiB;
constexpr double kLeastFreeShare = 0.05;
// What a pause takes beside what was on the GPU, where a run's own memory is bounded.
constexpr double kMargin = 1 * kGiB;

constexpr Bytes kNotKnown(1e15);  // more than any machine has

struct HostMemory {
  Bytes all, available;
};

std::optional<HostMemory> ReadHostMemory() {
  std::ifstream file("/proc/meminfo");
  HostMemory memory;
  std::string key, unit;
  double kibibytes = 0;
  int found = 0;
  while (file >> key >> kibibytes) {
    if (key == "MemTotal:") memory.all = Bytes(kibibytes * 1024), ++found;
    if (key == "MemAvailable:") memory.available = Bytes(kibibytes * 1024), ++found;
    std::getline(file, unit);
  }
  return found == 2 ? std::optional(memory) : std::nullopt;
}

// Empty: there is room for it.
std::string WhyNoRoom(Bytes wanted) {
  const auto host = ReadHostMemory();
  if (!host) return "how much host memory is free cannot be read from /proc/meminfo";
  const double reserve = std::max(kLeastFree, kLeastFreeShare * host->all.value);
  if (wanted.value + reserve <= host->available.value) return {};
  return fmt::format(
      "its {} of GPU memory would go to host memory, of which {} are free and {} have to stay free",
      core::SizeText(wanted), core::SizeText(host->available), core::SizeText(Bytes(reserve)));
}

// What was on the GPU counts as the run's own: a bound on that must leave room for it.
void SetMemory(const LocalRun& run, std::optional<Bytes> more) {
  if (!run.group || !run.request.asked.memory) return;
  platform::CgroupLimits limits;
  limits.memory = *run.request.asked.memory;
  if (more) limits.memory = Bytes(limits.memory->value + more->value + kMargin);
  run.group->Change(limits);
}

}  // namespace

void RunPauses::Refuse(RunId id, bool pause, std::string why) {
  if (pause) return book_.Emit(PauseRefused{id, std::move(why)});
  book_.Emit(ResumeRefused{id, std::move(why)});
}

std::string RunPauses::WhyNoPause() {
  if (why_not_) return *why_not_;
  const std::string& given = book_.options.pauser;
  const auto found = given.empty() ? FindPauser() : core::Result<std::string>(given);
  const core::Result<void> can = found ? CheckPauser(*found) : tl::unexpected(found.error());
  why_not_ = can ? std::string() : can.error().message;
  if (found) program_ = *found;
  return *why_not_;
}

void RunPauses::Pause(RunId id, std::optional<Bytes> gpu_memory) {
  LocalRun* run = book_.Find(id);
  if (run == nullptr || run->ended) return;  // its end is told
  if (std::string never = WhyNoPause(); !never.empty()) {
    Refuse(id, true, std::move(never));
  } else if (!run->command) {
    Refuse(id, true, "it has not begun");
  } else if (run->mps) {
    Refuse(id, true,
           "it is a client of MPS, which the driver cannot pause; submit it with --exclusive to "
           "have it alone on its GPU, without MPS");
  } else if (std::string no_room = WhyNoRoom(gpu_memory.value_or(Bytes(0))); !no_room.empty()) {
    Refuse(id, true, std::move(no_room));
  } else {
    SetMemory(*run, gpu_memory.value_or(kNotKnown));
    Start(*run, true);
  }
}

void RunPauses::Resume(RunId id) {
  LocalRun* run = book_.Find(id);
  if (run == nullptr || run->ended) return;
  if (std::string never = WhyNoPause(); !never.empty()) {
    return Refuse(id, false, std::move(never));
  }
  cpus_.TakeAgain(*run);
  Start(*run, false);
}

void RunPauses::Start(LocalRun& run, bool pause) {
  const auto pid = StartPauser(program_, pause, run.folder);
  if (!pid) return Refuse(run.request.id, pause, pid.error().message);
  AtWork& started = at_work_[*pid];
  started = {run.request.id, pause, -1, book_.Now(), false};
  started.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
  if (started.pidfd < 0) return;  // looked at once a second
  ::fcntl(started.pidfd, F_SETFD, FD_CLOEXEC);
  signals_.WatchOther(started.pidfd);
}

void RunPauses::Look() {
  for (auto it = at_work_.begin(); it != at_work_.end();) {
    auto& [pid, one] = *it;
    int status = 0;
    if (const pid_t gone = ::waitpid(pid, &status, WNOHANG); gone != 0) {
      if (gone < 0) status = 1 << 8;  // somebody else took it: what it left in the folder counts
      if (one.pidfd >= 0) ::close(one.pidfd);
      const AtWork done = one;
      it = at_work_.erase(it);
      Emit(done, status);
      continue;
    }
    if (!one.killed && book_.Now() > one.since + book_.options.pause_patience) {
      one.killed = true;
      ::kill(pid, SIGKILL);  // one that the kernel holds goes later; it is told as refused then
    }
    ++it;
  }
}

void RunPauses::Emit(const AtWork& done, int status) {
  LocalRun* run = book_.Find(done.id);
  if (run == nullptr || run->ended || run->forgotten) return;
  const PauseState state = ReadPause(run->folder);
  const auto wanted = done.pause ? PauseState::State::kPaused : PauseState::State::kRunning;
  const bool well = (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                    (state.state == wanted && state.error.empty() && state.pauses > 0);
  const bool paused = well ? done.pause : state.state == PauseState::State::kPaused;
  if (paused) cpus_.Return(done.id);  // others may have its CPUs
  const bool pauses_again = std::any_of(at_work_.begin(), at_work_.end(), [&](const auto& other) {
    return other.second.id == done.id && other.second.pause;
  });
  if (!paused && !pauses_again) SetMemory(*run, std::nullopt);
  if (well) {
    if (!done.pause) return book_.Emit(RunResumed{done.id});
    return book_.Emit(RunPaused{done.id, Bytes(static_cast<double>(state.bytes))});
  }
  if (done.killed) {
    // Wherever it was left: the next one brings it to an end.
    if (done.pause) Start(*run, false);
    return Refuse(done.id, done.pause,
                  fmt::format("the driver did not answer within {:.0f} s",
                              book_.options.pause_patience.value));
  }
  Refuse(done.id, done.pause,
         state.error.empty() ? "sharewell-pause was ended, or could not write into the run's folder"
                             : state.error);
}

}  // namespace sharewell::engine
