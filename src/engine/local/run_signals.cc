#include "engine/local/run_signals.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sharewell::engine {
namespace {

constexpr int kMostSignals = 256;  // taken at a time

void Ring(int file) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(file, &one, sizeof one);
}

bool Rang(int file) {
  std::uint64_t ignored = 0;
  return ::read(file, &ignored, sizeof ignored) > 0;
}

}  // namespace

RunSignals::~RunSignals() {
  for (const int file : {wake_, errand_over_, epoll_, inotify_}) {
    if (file >= 0) ::close(file);
  }
}

core::Result<void> RunSignals::Open() {
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  inotify_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  errand_over_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0 || epoll_ < 0 || errand_over_ < 0) {
    return core::FailedError("no event queue: {}", std::strerror(errno));
  }
  for (const int file : {wake_, inotify_, errand_over_}) Add(file);
  return {};
}

bool RunSignals::Add(int file) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = file;
  return file >= 0 && ::epoll_ctl(epoll_, EPOLL_CTL_ADD, file, &event) == 0;
}

void RunSignals::Wake() const { Ring(wake_); }
void RunSignals::RingErrandOver() const { Ring(errand_over_); }

void RunSignals::WatchFolder(LocalRun& run) {
  if (inotify_ >= 0) run.watch = ::inotify_add_watch(inotify_, run.folder.c_str(), IN_MOVED_TO);
  if (run.watch >= 0) by_watch_[run.watch] = run.request.id;
}

void RunSignals::LeaveFolder(LocalRun& run) {
  if (run.watch < 0) return;
  ::inotify_rm_watch(inotify_, run.watch);
  by_watch_.erase(run.watch);
  run.watch = -1;
}

void RunSignals::WatchProcess(LocalRun& run) {
  if (!Add(run.pidfd)) return;
  by_pidfd_[run.pidfd] = run.request.id;
}

void RunSignals::LeaveProcess(LocalRun& run) {
  if (run.pidfd < 0) return;
  by_pidfd_.erase(run.pidfd);
  ::close(run.pidfd);
  run.pidfd = -1;
}

void RunSignals::WatchOther(int pidfd) const { Add(pidfd); }

std::vector<RunSignals::Signal> RunSignals::Wait(int timeout_ms) {
  epoll_event events[kMostSignals];
  const int count = ::epoll_wait(epoll_, events, kMostSignals, timeout_ms);
  std::vector<Signal> signals;
  for (int i = 0; i < count; ++i) {
    const int file = events[i].data.fd;
    if (file == wake_) {
      if (Rang(wake_)) signals.push_back({Kind::kWoken});
    } else if (file == errand_over_) {
      Rang(errand_over_);
      signals.push_back({Kind::kErrandOver});
    } else if (file == inotify_) {
      ReadFolders(signals);
    } else if (const auto it = by_pidfd_.find(file); it != by_pidfd_.end()) {
      signals.push_back({Kind::kEnded, it->second});
    } else {
      signals.push_back({Kind::kOtherEnded});
    }
  }
  return signals;
}

void RunSignals::ReadFolders(std::vector<Signal>& out) const {
  alignas(inotify_event) char room[16384];
  const ssize_t n = ::read(inotify_, room, sizeof room);
  for (ssize_t at = 0; at < n;) {
    inotify_event event{};
    std::memcpy(&event, room + at, sizeof event);
    at += static_cast<ssize_t>(sizeof event + event.len);
    const auto it = by_watch_.find(event.wd);
    if (it != by_watch_.end()) out.push_back({Kind::kFolder, it->second});
  }
}

}  // namespace sharewell::engine
