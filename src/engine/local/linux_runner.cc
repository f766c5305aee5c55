#include "engine/local/linux_runner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/local/local_book.h"
#include "engine/local/run/job_folder.h"
#include "engine/local/run/supervised.h"
#include "engine/local/run_cpus.h"
#include "engine/local/run_falls.h"
#include "engine/local/run_pauses.h"
#include "engine/local/run_signals.h"
#include "engine/local/run_spec.h"
#include "engine/local/run_starts.h"
#include "engine/local/run_watch.h"

namespace sharewell::engine {
namespace {

namespace fs = std::filesystem;
using core::Seconds;

constexpr Seconds kLookEvery{1};
constexpr Seconds kLookAtFirstStepsEvery{0.25};
constexpr int kLockTries = 50;     // every 20 ms
constexpr Seconds kLingering{30};  // MPS daemons that nobody uses are stopped a while later

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
    const auto id = JobOfFolder(it->path().filename().string());
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

// Its supervisor looks when the limit it knows is over.
void ExtendLimit(const LocalRun& run, Seconds limit, LocalBook& book) {
  if (!run.made || !run.request.asked.time_limit) return;
  if (limit <= std::max(*run.request.asked.time_limit, ReadLimit(run.folder))) return;
  const auto written = WriteLimit(run.folder, limit);
  if (written || !book.IsNews("limit")) return;
  book.Emit(
      RunNote{run.request.id, "its time limit cannot be extended by what it loses beside others: " +
                                  written.error().message});
}

}  // namespace

// In the order they are made. They go in the opposite one: errands and MPS daemons tell by files of
// the signals, which go last.
struct LinuxRunner::Impl {
  struct Lock {  // of the state folder: the last to go
    ~Lock() {
      if (file >= 0) ::close(file);
    }
    int file = -1;
  };

  explicit Impl(LinuxRunnerOptions chosen) : book(std::move(chosen)), looked(book.options.origin) {}

  core::Result<void> Open();
  void Look();  // once a second
  void LookAtGpus();
  void TakeSignals(int timeout_ms);
  void RemoveLeftGroups();  // of runs that are not there any more
  bool NeedsLooks(core::Seconds now);

  Lock lock;
  RunSignals signals;
  LocalBook book;
  RunCpus cpus{book};
  RunFalls falls{book};
  RunWatch watch{book, signals, cpus, falls};
  RunPauses pauses{book, signals, cpus};
  RunStarts starts{book, signals, cpus, watch};
  std::map<std::string, std::string> lost = {};  // GPUs, when last looked
  core::Seconds looked, looked_at_first, busy_until;
  bool woken = false;
};

core::Result<void> LinuxRunner::Impl::Open() {
  const LinuxRunnerOptions& options = book.options;
  auto found =
      options.supervisor.empty() ? FindSupervisor() : core::Result<std::string>(options.supervisor);
  RETURN_IF_ERROR(found);
  book.supervisor = std::move(*found);
  using fs::perms;
  // Users' processes pass through to their progress files; nobody else may list or read.
  RETURN_IF_ERROR(MakeFolder(options.state + "/jobs",
                             perms::owner_all | perms::group_exec | perms::others_exec));
  RETURN_IF_ERROR(MakeFolder(options.state + "/logs", perms::owner_all));
  lock.file = ::open(LockOf(options.state).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (!Locked(lock.file, LOCK_EX)) return NotLocked(options.state);
  book.ledger.emplace(options.state);
  RETURN_IF_ERROR(signals.Open());
  book.home = platform::CgroupHome::Find({"cpuset", "cpu", "memory", "pids"}, options.cgroup_root);
  if (options.sharing) {
    book.sharing.emplace(*options.sharing, [this] { signals.RingErrandOver(); });
  }
  return {};
}

void LinuxRunner::Impl::Look() {
  looked = book.Now();
  falls.Judge();
  watch.LookAtAll();
  pauses.Look();
  cpus.Lend();
  std::erase_if(book.leaving, [](const auto& group) { return group->TryRemove(); });
  if (book.options.lost_gpus) LookAtGpus();
  if (!book.sharing) return;
  for (GpuSharing::News& news : book.sharing->Look()) book.Emit(RunnerNote{std::move(news.text)});
}

void LinuxRunner::Impl::LookAtGpus() {
  const auto now_lost = book.options.lost_gpus();
  for (const auto& [gpu, why] : now_lost) {
    if (!lost.contains(gpu)) book.Emit(GpuLost{gpu, why});
  }
  for (const auto& [gpu, why] : lost) {
    if (!now_lost.contains(gpu)) book.Emit(GpuBack{gpu});
  }
  lost = now_lost;
}

void LinuxRunner::Impl::TakeSignals(int timeout_ms) {
  using Kind = RunSignals::Kind;
  for (const RunSignals::Signal& signal : signals.Wait(timeout_ms)) {
    LocalRun* run = book.Find(signal.run);
    if (signal.kind == Kind::kWoken) woken = true;
    if (signal.kind == Kind::kErrandOver) starts.TakeErrands();
    if (signal.kind == Kind::kOtherEnded) pauses.Look();
    if (signal.kind == Kind::kFolder && run != nullptr) watch.LookAtFolder(*run);
    if (signal.kind == Kind::kEnded && run != nullptr) watch.EndIfGone(*run);
  }
}

// Whether something is there that no signal tells of.
bool LinuxRunner::Impl::NeedsLooks(Seconds now) {
  const bool watching = std::any_of(book.runs.begin(), book.runs.end(),
                                    [](const auto& run) { return !run.second.ended; });
  if (watching) busy_until = now + kLingering;
  return watching || falls.any() || !book.leaving.empty() || pauses.any() ||
         book.options.lost_gpus || (book.sharing && now < busy_until);
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
  if (!options.watcher.empty()) {
    options.watcher = fs::absolute(options.watcher, error).lexically_normal().string();
  }
  auto impl = std::make_unique<Impl>(std::move(options));
  RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<LinuxRunner>(new LinuxRunner(std::move(impl)));
}

LinuxRunner::LinuxRunner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LinuxRunner::~LinuxRunner() = default;

Seconds LinuxRunner::Now() { return impl_->book.Now(); }

void LinuxRunner::Start(const RunRequest& request) {
  LocalBook& book = impl_->book;
  const auto [it, fresh] = book.runs.try_emplace(request.id);
  if (!fresh) return;  // it has been started
  LocalRun& run = it->second;
  run.request = request;
  run.folder = JobFolder(book.options.state, request.id.job, request.id.attempt);
  run.logs = book.LogsOf(request);
  impl_->starts.Begin(run);
}

void LinuxRunner::Stop(RunId id, const StopOrder& order) {
  LocalRun* run = impl_->book.Find(id);
  if (run == nullptr || run->ended) return;
  if (!run->waits) return RunWatch::Signal(*run, order.grace);
  impl_->watch.Finish(*run, {.exit_code = 128 + SIGTERM,
                             .signal = SIGTERM,
                             .stopped = true,
                             .message = "it was stopped before it began"});
}

void LinuxRunner::Change(RunId id, const RunBounds& bounds) {
  LocalRun* run = impl_->book.Find(id);
  if (run == nullptr || run->ended) return;
  if (bounds.cores) impl_->cpus.Resize(*run, *bounds.cores);
  if (bounds.share) impl_->cpus.SetShare(*run, *bounds.share);
  if (bounds.time_limit) ExtendLimit(*run, *bounds.time_limit, impl_->book);
}

void LinuxRunner::Pause(RunId id, std::optional<core::Bytes> gpu_memory) {
  impl_->pauses.Pause(id, gpu_memory);
}
void LinuxRunner::Resume(RunId id) { impl_->pauses.Resume(id); }
std::string LinuxRunner::WhyNoPause() { return impl_->pauses.WhyNoPause(); }

std::vector<RunRequest> LinuxRunner::RunsIn(const std::string& state) {
  std::vector<RunRequest> runs;
  for (const auto& [id, folder] : FoldersIn(state)) {
    if (LifeOf(folder) == JobLife::kNever) continue;
    RunRequest& run = runs.emplace_back();
    if (const auto spec = ReadSpec(folder)) run = RequestIn(*spec);
    run.id = id;
  }
  return runs;
}

std::vector<RunRequest> LinuxRunner::Recover() {
  LocalBook& book = impl_->book;
  std::vector<RunRequest> requests;
  for (const auto& [id, folder] : FoldersIn(book.options.state)) {
    if (book.runs.contains(id)) continue;
    const auto spec = ReadSpec(folder);
    const auto life = LifeOf(folder);
    const bool whole = spec && RequestIn(*spec).id == id;
    if (life == JobLife::kNever || (!whole && life != JobLife::kAlive)) {
      LocalBook::RemoveFolder(folder);  // it never was, or nothing can be told of it any more
    } else if (whole) {
      impl_->watch.Adopt(id, *spec);
      requests.push_back(book.runs.at(id).request);
    } else {
      LocalRun unknown;  // somebody has spoilt its folder: it must not run beside its successor
      unknown.folder = folder;
      RunWatch::Signal(unknown, Seconds(0));
    }
  }
  book.ledger->FreeTheRest();
  book.home->RemoveStale();
  impl_->RemoveLeftGroups();
  impl_->Look();
  return requests;
}

// A server was killed between the end of a run and that of its group.
void LinuxRunner::Impl::RemoveLeftGroups() {
  for (const std::string& name : book.home->Names(book.GroupName({}))) {
    const bool ours = std::any_of(book.runs.begin(), book.runs.end(), [&](const auto& run) {
      return book.GroupName(run.first) == name;
    });
    if (!ours) book.leaving.push_back(book.home->Again(name));
  }
}

bool LinuxRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  Impl& in = *impl_;
  std::vector<RunEvent>& pending = in.book.pending;
  while (true) {
    const Seconds now = in.book.Now();
    if (now >= in.looked + kLookEvery) in.Look();
    const bool first_steps = in.watch.any_first_steps();
    if (first_steps && now >= in.looked_at_first + kLookAtFirstStepsEvery) {
      in.looked_at_first = now;
      in.watch.LookAtFirstSteps();
    }
    in.falls.Judge();
    const bool done = in.woken || !pending.empty() || (until && now >= *until);
    double patience = until ? (*until - now).value : std::numeric_limits<double>::infinity();
    if (in.NeedsLooks(now)) patience = std::min(patience, (in.looked + kLookEvery - now).value);
    if (first_steps) {
      patience = std::min(patience, (in.looked_at_first + kLookAtFirstStepsEvery - now).value);
    }
    const bool forever = !done && !std::isfinite(patience);
    const double milliseconds = std::clamp(std::ceil(patience * 1e3), 0.0, 60'000.0);
    in.TakeSignals(done ? 0 : (forever ? -1 : static_cast<int>(milliseconds)));
    if (!done) continue;
    in.woken = false;
    out.insert(out.end(), std::make_move_iterator(pending.begin()),
               std::make_move_iterator(pending.end()));
    pending.clear();
    return true;
  }
}

void LinuxRunner::Wake() { impl_->signals.Wake(); }

void LinuxRunner::Forget(RunId id) {
  LocalRun* run = impl_->book.Find(id);
  if (run == nullptr) return;
  run->forgotten = true;
  if (!run->ended) return;
  if (run->made) LocalBook::RemoveFolder(run->folder);
  impl_->book.runs.erase(id);
}

LogLedger& LinuxRunner::ledger() { return *impl_->book.ledger; }

std::optional<int> LinuxRunner::PidOf(RunId id) const {
  const LocalRun* run = impl_->book.Find(id);
  return run == nullptr || run->ended ? std::nullopt : run->command;
}

std::string LinuxRunner::CgroupOf(RunId id) const {
  const LocalRun* run = impl_->book.Find(id);
  return run == nullptr || !run->group ? std::string() : run->group->folder();
}

}  // namespace sharewell::engine
