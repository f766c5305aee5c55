#include "engine/local/linux_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <thread>

#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/local/linux_runner_impl.h"
#include "engine/local/run/supervised.h"
#include "engine/local/run_spec.h"
#include "platform/process/cpu_set.h"

namespace sharewell::engine {
namespace {

namespace fs = std::filesystem;
using core::Seconds;

constexpr Seconds kLookEvery{1};
constexpr int kLockTries = 50;     // every 20 ms
constexpr Seconds kLingering{30};  // MPS daemons that nobody uses are stopped a while later

double SteadyNow() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string LockOf(const std::string& state) { return state + "/jobs/lock"; }

// False: errno says why. A server that was killed while it started a supervisor is gone only when
// that has begun.
bool Locked(int file, int how) {
  bool locked = false;
  for (int i = 0; i < kLockTries && file >= 0 && !locked; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    locked = ::flock(file, how | LOCK_NB) == 0;
  }
  return locked;
}

core::Result<void> NotLocked(const std::string& state) {
  if (errno != EWOULDBLOCK) {
    return core::FailedError("the folder {} cannot be used: {}", core::Quoted(state),
                             std::strerror(errno));
  }
  return core::FailedError(
      "another server, with another store, runs jobs in {}; give each store a folder of its own "
      "(--store FOLDER/store.db), or end that server first",
      core::Quoted(state));
}

// The folders of runs, by id.
std::vector<std::pair<RunId, std::string>> FoldersIn(const std::string& state) {
  std::vector<std::pair<RunId, std::string>> found;
  std::error_code error;
  for (fs::directory_iterator it(state + "/jobs", error), end; !error && it != end;
       it.increment(error)) {
    const auto id = engine::JobOfFolder(it->path().filename().string());
    if (id) found.push_back({{id->first, id->second}, it->path().string()});
  }
  std::sort(found.begin(), found.end());
  return found;
}

core::Result<void> MakeFolder(const std::string& path, fs::perms mode) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) fs::permissions(path, mode, error);
  if (error) {
    return core::FailedError("cannot use the folder {}: {}; jobs are kept there",
                             core::Quoted(path), error.message());
  }
  return {};
}

}  // namespace

LinuxRunner::Impl::Impl(LinuxRunnerOptions chosen)
    : options(std::move(chosen)), looked(options.origin), zero(SteadyNow()) {}

LinuxRunner::Impl::~Impl() {
  // Both tell by files that are closed below.
  errands.reset();
  sharing.reset();
  for (auto& [id, run] : runs) {
    if (run.group && !run.ended) run.group->Keep();
    if (run.pidfd >= 0) ::close(run.pidfd);
  }
  for (const int file : {lock, wake, epoll, inotify, errand_over}) {
    if (file >= 0) ::close(file);
  }
}

Seconds LinuxRunner::Impl::Now() const { return options.origin + Seconds(SteadyNow() - zero); }

LinuxRunner::Impl::Run* LinuxRunner::Impl::Find(RunId id) {
  const auto it = runs.find(id);
  return it == runs.end() ? nullptr : &it->second;
}

core::Result<void> LinuxRunner::Impl::Open() {
  if (auto found = options.supervisor.empty() ? engine::FindSupervisor()
                                              : core::Result<std::string>(options.supervisor)) {
    supervisor = std::move(*found);
  } else {
    return tl::unexpected(found.error());
  }
  using fs::perms;
  // Users' processes pass through to their progress files; nobody else may list or read.
  if (auto ok = MakeFolder(options.state + "/jobs",
                           perms::owner_all | perms::group_exec | perms::others_exec);
      !ok) {
    return ok;
  }
  if (auto ok = MakeFolder(options.state + "/logs", perms::owner_all); !ok) return ok;
  lock = ::open(LockOf(options.state).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (!Locked(lock, LOCK_EX)) return NotLocked(options.state);
  ledger.emplace(options.state);
  wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll = ::epoll_create1(EPOLL_CLOEXEC);
  inotify = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  errand_over = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0 || epoll < 0 || errand_over < 0)
    return core::FailedError("no event queue: {}", std::strerror(errno));
  for (const int file : {wake, inotify, errand_over}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = file;
    if (file >= 0) ::epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event);
  }
  home = platform::CgroupHome::Find({"cpuset", "cpu", "memory", "pids"}, options.cgroup_root);
  if (options.cpus) room.emplace(*options.cpus);
  const auto tell = [this] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(errand_over, &one, sizeof one);
  };
  errands.emplace(tell);
  if (options.sharing) sharing.emplace(*options.sharing, tell);
  return {};
}

core::Result<void> LinuxRunner::FolderIsFree(const std::string& state) {
  const int file = ::open(LockOf(state).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};  // no server has been here
  core::Result<void> answer;
  if (!Locked(file, LOCK_SH) && errno == EWOULDBLOCK) answer = NotLocked(state);
  ::close(file);
  return answer;
}

core::Result<std::unique_ptr<LinuxRunner>> LinuxRunner::Open(LinuxRunnerOptions options) {
  std::error_code error;
  options.state = fs::absolute(options.state, error).lexically_normal().string();
  if (options.state.size() > 1 && options.state.back() == '/') options.state.pop_back();
  auto impl = std::make_unique<Impl>(std::move(options));
  RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<LinuxRunner>(new LinuxRunner(std::move(impl)));
}

LinuxRunner::LinuxRunner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LinuxRunner::~LinuxRunner() = default;

Seconds LinuxRunner::Now() { return impl_->Now(); }

void LinuxRunner::Start(const RunRequest& request) {
  Impl& in = *impl_;
  const auto [it, fresh] = in.runs.try_emplace(request.id);
  if (!fresh) return;  // it has been started
  Impl::Run& run = it->second;
  run.request = request;
  run.folder = engine::JobFolder(in.options.state, request.id.job, request.id.attempt);
  run.logs = in.LogsOf(request);
  in.Begin(run);
}

void LinuxRunner::Stop(RunId id, const StopOrder& order) {
  Impl::Run* run = impl_->Find(id);
  if (run == nullptr || run->ended) return;
  if (!run->waits) return impl_->Signal(*run, order.grace);
  impl_->Finish(*run, {.exit_code = 128 + SIGTERM,
                       .signal = SIGTERM,
                       .stopped = true,
                       .message = "it was stopped before it began"});
}

void LinuxRunner::Change(RunId id, const RunBounds& bounds) {
  const Impl::Run* run = impl_->Find(id);
  if (run == nullptr || run->ended) return;
  if (bounds.cores) SetCores(id, *bounds.cores);
  if (bounds.share) SetShare(id, *bounds.share);
  if (bounds.time_limit) SetTimeLimit(id, *bounds.time_limit);
}

// Its supervisor looks when the limit it knows is over.
void LinuxRunner::SetTimeLimit(RunId id, Seconds limit) {
  Impl& in = *impl_;
  const Impl::Run& run = *in.Find(id);
  if (!run.made || !run.request.asked.time_limit) return;
  if (limit <= std::max(*run.request.asked.time_limit, engine::ReadLimit(run.folder))) return;
  const auto written = engine::WriteLimit(run.folder, limit);
  if (written || !in.told.insert("limit").second) return;
  in.Tell(RunNote{id, "its time limit cannot be extended by what it loses beside others: " +
                          written.error().message});
}

// Besides its CPU time, where the machine can: what it moves hurts others more than what it
// reckons.
void LinuxRunner::Impl::BoundBandwidth(Run& run, core::Ratio share) {
  if (share >= 1 || !run.group) return run.bandwidth.reset();
  if (!run.bandwidth) {
    run.bandwidth =
        platform::BandwidthGroup::Make(fmt::format("sharewell.job-{}", run.request.id.job));
  }
  if (!run.bandwidth || !run.bandwidth->SetShare(share)) return;
  std::vector<int> pids;
  for (const std::string& procs : run.group->procs()) {
    std::ifstream file(procs);
    for (int pid = 0; file >> pid;) pids.push_back(pid);
  }
  run.bandwidth->Add(pids);
}

void LinuxRunner::SetShare(RunId id, core::Ratio share) {
  Impl& in = *impl_;
  Impl::Run& run = *in.Find(id);
  Impl::BoundBandwidth(run, share);
  const double all =
      static_cast<double>(in.room ? in.room->all().size() : platform::AllowedCpus().size());
  const double cores = run.request.cores > 0 ? std::min(run.request.cores, all) : all;
  const platform::CgroupLimits limits{.cpu_time = share < 1
                                                      ? std::max(share, 0.01) * cores
                                                      : std::numeric_limits<double>::infinity()};
  if (run.group && run.group->Change(limits)) return;
  if (!in.told.insert("share").second) return;
  in.Tell(RunNote{
      id, "it cannot be slowed down for others: CPU time is not bounded by a control group here"});
}

std::vector<RunRequest> LinuxRunner::RunsIn(const std::string& state) {
  std::vector<RunRequest> runs;
  for (const auto& [id, folder] : FoldersIn(state)) {
    if (engine::LifeOf(folder) == engine::JobLife::kNever) continue;
    RunRequest& run = runs.emplace_back();
    if (const auto spec = engine::ReadSpec(folder)) run = RequestIn(*spec);
    run.id = id;
  }
  return runs;
}

std::vector<RunRequest> LinuxRunner::Recover() {
  Impl& in = *impl_;
  std::vector<RunRequest> requests;
  for (const auto& [id, folder] : FoldersIn(in.options.state)) {
    if (in.runs.contains(id)) continue;
    const auto spec = engine::ReadSpec(folder);
    const auto life = engine::LifeOf(folder);
    const bool whole = spec && RequestIn(*spec).id == id;
    if (life == engine::JobLife::kNever || (!whole && life != engine::JobLife::kAlive)) {
      in.RemoveFolder(folder);  // it never was, or nothing can be told of it any more
    } else if (whole) {
      in.Adopt(id, *spec);
      requests.push_back(in.runs.at(id).request);
    } else {
      Impl::Run unknown;  // somebody has spoilt its folder: it must not run beside its successor
      unknown.folder = folder;
      in.Signal(unknown, Seconds(0));
    }
  }
  in.ledger->FreeTheRest();
  in.home->RemoveStale();
  // Groups whose run is not there any more, of a server that was killed between the two.
  for (const std::string& name : in.home->Names(in.GroupName({}))) {
    const bool ours = std::any_of(in.runs.begin(), in.runs.end(),
                                  [&](const auto& run) { return in.GroupName(run.first) == name; });
    if (!ours) in.leaving.push_back(in.home->Again(name));
  }
  in.Look();
  return requests;
}

bool LinuxRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  Impl& in = *impl_;
  while (true) {
    const Seconds now = in.Now();
    if (now >= in.looked + kLookEvery) in.Look();
    in.JudgeFalls();
    const bool done = in.woken || !in.pending.empty() || (until && now >= *until);
    double patience = until ? (*until - now).value : std::numeric_limits<double>::infinity();
    const bool watching = std::any_of(in.runs.begin(), in.runs.end(),
                                      [](const auto& run) { return !run.second.ended; });
    if (watching) in.busy_until = now + kLingering;
    if (watching || in.unjudged || !in.leaving.empty() || !in.pausers.empty() ||
        in.options.lost_gpus || (in.sharing && now < in.busy_until)) {
      patience = std::min(patience, (in.looked + kLookEvery - now).value);
    }
    const bool forever = !done && !std::isfinite(patience);
    const double milliseconds = std::clamp(std::ceil(patience * 1e3), 0.0, 60'000.0);
    in.TakeSignals(done ? 0 : (forever ? -1 : static_cast<int>(milliseconds)));
    if (!done) continue;
    in.woken = false;
    out.insert(out.end(), std::make_move_iterator(in.pending.begin()),
               std::make_move_iterator(in.pending.end()));
    in.pending.clear();
    return true;
  }
}

void LinuxRunner::Wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(impl_->wake, &one, sizeof one);
}

void LinuxRunner::Forget(RunId id) {
  Impl::Run* run = impl_->Find(id);
  if (run == nullptr) return;
  run->forgotten = true;
  if (!run->ended) return;
  if (run->made) impl_->RemoveFolder(run->folder);
  impl_->runs.erase(id);
}

LogLedger& LinuxRunner::ledger() { return *impl_->ledger; }

std::optional<int> LinuxRunner::PidOf(RunId id) const {
  const Impl::Run* run = impl_->Find(id);
  return run == nullptr || run->ended ? std::nullopt : run->command;
}

std::string LinuxRunner::CgroupOf(RunId id) const {
  const Impl::Run* run = impl_->Find(id);
  return run == nullptr || !run->group ? std::string() : run->group->folder();
}

}  // namespace sharewell::engine
