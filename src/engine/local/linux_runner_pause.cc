// Pauses: a process of its own (sharewell-pause) makes the driver's calls, which may take long or
// never return. What it has reached stands in the run's folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <utility>

#include "engine/local/linux_runner_impl.h"
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
      "its {:.1f} GB of GPU memory would go to host memory, of which {:.1f} GB are free and {:.1f} "
      "GB have to stay free",
      wanted.value / 1e9, host->available.value / 1e9, reserve / 1e9);
}

}  // namespace

void LinuxRunner::Impl::Refuse(RunId id, bool pause, std::string why) {
  if (pause) return Tell(PauseRefused{id, std::move(why)});
  Tell(ResumeRefused{id, std::move(why)});
}

std::string LinuxRunner::WhyNoPause() {
  Impl& in = *impl_;
  if (in.why_no_pause) return *in.why_no_pause;
  const auto found =
      in.options.pauser.empty() ? FindPauser() : core::Result<std::string>(in.options.pauser);
  const core::Result<void> can = found ? CheckPauser(*found) : tl::unexpected(found.error());
  in.why_no_pause = can ? std::string() : can.error().message;
  if (found) in.pauser = *found;
  return *in.why_no_pause;
}

void LinuxRunner::Pause(RunId id, std::optional<Bytes> gpu_memory) {
  Impl& in = *impl_;
  Impl::Run* run = in.Find(id);
  if (run == nullptr || run->ended) return;  // its end is told
  if (std::string never = WhyNoPause(); !never.empty()) {
    in.Refuse(id, true, std::move(never));
  } else if (!run->command) {
    in.Refuse(id, true, "it has not begun");
  } else if (run->mps) {
    in.Refuse(id, true,
              "it is a client of MPS, which the driver cannot pause; submit it with --exclusive to "
              "have it alone on its GPU, without MPS");
  } else if (std::string no_room = WhyNoRoom(gpu_memory.value_or(Bytes(0))); !no_room.empty()) {
    in.Refuse(id, true, std::move(no_room));
  } else {
    in.SetMemory(*run, gpu_memory.value_or(kNotKnown));
    in.StartPauser(*run, true);
  }
}

void LinuxRunner::Resume(RunId id) {
  Impl& in = *impl_;
  Impl::Run* run = in.Find(id);
  if (run == nullptr || run->ended) return;
  if (std::string never = WhyNoPause(); !never.empty()) {
    return in.Refuse(id, false, std::move(never));
  }
  in.TakeCpus(*run);
  in.StartPauser(*run, false);
}

bool LinuxRunner::Impl::StartPauser(Run& run, bool pause) {
  const auto pid = engine::StartPauser(pauser, pause, run.folder);
  if (!pid) {
    Refuse(run.request.id, pause, pid.error().message);
    return false;
  }
  Pauser& started = pausers[*pid];
  started = {run.request.id, pause, -1, Now(), false};
  started.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
  if (started.pidfd < 0) return true;  // looked at once a second
  ::fcntl(started.pidfd, F_SETFD, FD_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = started.pidfd;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, started.pidfd, &event);
  return true;
}

void LinuxRunner::Impl::LookAtPausers() {
  for (auto it = pausers.begin(); it != pausers.end();) {
    auto& [pid, at_work] = *it;
    int status = 0;
    if (const pid_t gone = ::waitpid(pid, &status, WNOHANG); gone != 0) {
      if (gone < 0) status = 1 << 8;  // somebody else took it: what it left in the folder counts
      if (at_work.pidfd >= 0) ::close(at_work.pidfd);
      const Pauser done = at_work;
      it = pausers.erase(it);
      TellPause(done, status);
      continue;
    }
    if (!at_work.killed && Now() > at_work.since + options.pause_patience) {
      at_work.killed = true;
      ::kill(pid, SIGKILL);  // one that the kernel holds goes later; it is told as refused then
    }
    ++it;
  }
}

void LinuxRunner::Impl::TellPause(const Pauser& done, int status) {
  Run* run = Find(done.id);
  if (run == nullptr || run->ended || run->forgotten) return;
  const PauseState state = ReadPause(run->folder);
  const auto wanted = done.pause ? PauseState::State::kPaused : PauseState::State::kRunning;
  const bool well = (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                    (state.state == wanted && state.error.empty() && state.pauses > 0);
  const bool paused = well ? done.pause : state.state == PauseState::State::kPaused;
  if (paused && room) room->Return(done.id);  // others may have its CPUs
  const bool pauses_again = std::any_of(pausers.begin(), pausers.end(), [&](const auto& other) {
    return other.second.id == done.id && other.second.pause;
  });
  if (!paused && !pauses_again) SetMemory(*run, std::nullopt);
  if (well) {
    if (!done.pause) return Tell(RunResumed{done.id});
    return Tell(RunPaused{done.id, Bytes(static_cast<double>(state.bytes))});
  }
  if (done.killed) {
    // Wherever it was left: the next one brings it to an end.
    if (done.pause) StartPauser(*run, false);
    return Refuse(
        done.id, done.pause,
        fmt::format("the driver did not answer within {:.0f} s", options.pause_patience.value));
  }
  Refuse(done.id, done.pause,
         state.error.empty() ? "sharewell-pause was ended, or could not write into the run's folder"
                             : state.error);
}

// What was on the GPU counts as the run's own: a bound on that must leave room for it.
void LinuxRunner::Impl::SetMemory(const Run& run, std::optional<Bytes> more) {
  if (!run.group || !run.request.asked.memory) return;
  platform::CgroupLimits limits;
  limits.memory = *run.request.asked.memory;
  if (more) limits.memory = Bytes(limits.memory->value + more->value + kMargin);
  run.group->Change(limits);
}

}  // namespace sharewell::engine
