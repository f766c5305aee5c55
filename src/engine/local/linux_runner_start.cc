#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/local/container.h"
#include "engine/local/linux_runner_impl.h"
#include "engine/local/run/job_files.h"
#include "engine/local/run/supervised.h"
#include "engine/local/run_spec.h"
#include "platform/process/cpu_set.h"

namespace sharewell::engine {
namespace {

using core::Seconds;

// Of a job that says none, as login gives it.
constexpr const char* kPath = "/usr/local/bin:/usr/bin:/bin";
constexpr Seconds kUserKnown{60};  // asking for groups may go over the network
// Where no group counts a run's processes, all of its user's are counted, threads too.
constexpr int kUserProcesses = 4;
constexpr double kUncountedLog = 64 << 10;  // bytes a stream

std::string Millis(Seconds time) {
  return fmt::format("{:.0f}", std::clamp(time.value * 1e3, 0.0, 2e9));
}

// A name for this state folder's groups that another server on the machine does not have.
std::uint32_t StateTag(std::string_view state) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : state) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

bool MakeDirectory(const std::string& path, mode_t mode) {
  // Whatever our umask is.
  return ::mkdir(path.c_str(), mode) == 0 && ::chmod(path.c_str(), mode) == 0;
}

std::string ValueOf(const platform::Environment& environment, std::string_view name) {
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [&](const auto& one) { return one.first == name; });
  return found == environment.end() ? std::string() : found->second;
}

void AddUnlessThere(platform::Environment& environment, const char* name,
                    const std::string& value) {
  const bool has = std::any_of(environment.begin(), environment.end(),
                               [&](const auto& one) { return one.first == name; });
  if (!has && !value.empty()) environment.emplace_back(name, value);
}

}  // namespace

std::string LinuxRunner::Impl::GroupName(RunId id) const {
  const std::string prefix = fmt::format("sharewell.{:08x}.", StateTag(options.state));
  return id.job == 0 ? prefix : fmt::format("{}{}.{}", prefix, id.job, id.attempt);
}

std::string LinuxRunner::Impl::LogsOf(const RunRequest& request) const {
  return engine::LogFolder(options.state, options.store_id, request.user.uid, request.id.job);
}

core::Result<void> LinuxRunner::Impl::PrepareFolder(Run& run) {
  const auto failed = [&](const std::string& path) {
    return core::FailedError("cannot make {}: {}", core::Quoted(path), std::strerror(errno));
  };
  // One that is there has been used: no run is ever started twice.
  if (!MakeDirectory(run.folder, 0711)) return failed(run.folder);
  run.made = true;
  if (!engine::MakeLogFolder(run.logs)) return failed(run.logs);
  const std::string progress = run.folder + "/" + engine::kProgressFile;
  // A pipe takes no disk, whatever the job does with it.
  if (::mkfifo(progress.c_str(), 0600) != 0) return failed(progress);
  const auto& user = run.request.user;
  if (::geteuid() == 0 && ::lchown(progress.c_str(), user.uid, user.gid) != 0) {
    return failed(progress);
  }
  return {};
}

void LinuxRunner::Impl::PrepareBounds(Run& run, engine::JobSpec& spec,
                                      std::vector<std::string>& notes) {
  const RunRequest& request = run.request;
  platform::CgroupLimits limits;
  limits.memory = request.asked.memory;
  limits.processes = options.most_processes;
  limits.cpu_time = std::numeric_limits<double>::infinity();
  if (room) {
    std::optional<int> node;
    if (!request.gpus.empty()) {
      const auto it = options.gpu_nodes.find(request.gpus.front().uuid);
      if (it != options.gpu_nodes.end()) node = it->second;
    }
    limits.cpus = room->Take(request.id, request.cores, !request.gpus.empty(), node);
    // Whole cores are bounded by the set alone.
    if (request.cores > 0 && request.cores != std::floor(request.cores)) {
      limits.cpu_time = request.cores;
    }
    spec.Put("given_cpus", platform::FormatCpus(*limits.cpus));
    LendCpus();  // what others were lent may be its own now
  }
  run.group = home->Make(GroupName(request.id), limits);
  for (const std::string& missing : run.group->missing()) {
    const bool asked = request.asked.memory && missing.find("memory") != missing.npos;
    if (asked || told.insert(missing).second) notes.push_back(missing);
  }
  for (const std::string& procs : run.group->procs()) spec.Put("enter", procs);
  if (!run.group->folder().empty()) spec.Put("group_folder", run.group->folder());
  if (!run.group->NoForksFile().empty()) spec.Put("no_forks", run.group->NoForksFile());
  if (!run.group->KillFile().empty()) spec.Put("kill_all", run.group->KillFile());
  if (limits.cpus && request.cores > 0 && !run.group->Bounds("cpuset")) {
    spec.Put("cpus", platform::FormatCpus(*limits.cpus));
  }
  if (!run.group->Bounds("pids")) {
    spec.Put("most_processes", fmt::format("{}", kUserProcesses * options.most_processes));
  }
}

void LinuxRunner::Impl::PrepareUser(const Run& run, platform::Environment& environment,
                                    engine::JobSpec& spec, std::vector<std::string>& notes) {
  const core::Account& account = run.request.user;
  if (::geteuid() != 0) {
    if (account.uid != ::geteuid()) {
      notes.push_back(
          fmt::format("it runs as the server's user, not as {}: only root can change that",
                      core::Quoted(account.name)));
    }
    if (const char* own = std::getenv("HOME")) AddUnlessThere(environment, "HOME", own);
    return;
  }
  const RunUser& known = users[account.uid].user;
  spec.Put("uid", fmt::format("{}", account.uid));
  spec.Put("gid", fmt::format("{}", account.gid));
  for (const unsigned group : known.groups) spec.Put("group", fmt::format("{}", group));
  AddUnlessThere(environment, "HOME", known.home);
  AddUnlessThere(environment, "USER", account.name);
  AddUnlessThere(environment, "LOGNAME", account.name);
  AddUnlessThere(environment, "SHELL", known.shell);
}

core::Result<void> LinuxRunner::Impl::PrepareCommand(const Run& run,
                                                     const GpuSharing::Joined& joined,
                                                     engine::JobSpec& spec) {
  const RunRequest& request = run.request;
  if (request.asked.command.empty() || request.asked.command.front().empty()) {
    return core::UsageError("the command is empty; give a program to run");
  }
  std::vector<std::string> notes = run.notes;
  notes.insert(notes.end(), joined.notes.begin(), joined.notes.end());
  platform::Environment environment =
      RunEnvironment(request, run.folder + "/" + engine::kProgressFile, joined.environment);
  PrepareUser(run, environment, spec, notes);
  if (request.asked.image.empty())
    AddUnlessThere(environment, "PATH", kPath);  // images have theirs
  std::vector<std::string> words = request.asked.command;
  if (!request.asked.image.empty()) {
    if (auto ok = CheckImage(request.asked.image); !ok) return ok;
    const auto runtime = FindContainerRuntime();
    RETURN_IF_ERROR(runtime);
    ContainerPlace place;
    place.name = GroupName(request.id);
    if (runtime->kind == ContainerRuntime::Kind::kPodman && request.user.uid != 0) {
      const auto ranges = CheckIdRanges(request.user);
      place.id_ranges = ranges.has_value();
      if (!ranges) {
        notes.push_back(
            fmt::format("its container has one user, who is root inside and {} outside: {}",
                        core::Quoted(request.user.name), ranges.error().message));
      }
    }
    if (const auto cpus = spec.Get("given_cpus"); cpus && request.cores > 0) {
      place.cpus = platform::ParseCpus(*cpus).value_or(std::vector<int>());
    }
    place.memory = request.asked.memory;
    place.in_cgroup = !run.group->procs().empty();
    place.folders = {run.folder + "/" + engine::kProgressFile};
    if (!joined.pipes.empty()) place.folders.push_back(joined.pipes);
    place.environment = environment;
    words = ContainerCommand(*runtime, request, place);
    for (const std::string& word : ContainerRemoval(*runtime, place.name)) {
      spec.Put("cleanup", word);
    }
  }
  for (const std::string& word : words) spec.Put("arg", word);
  for (const auto& [name, value] : environment) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != name.npos) {
      return core::UsageError("{} is no name of an environment variable", core::Quoted(name));
    }
    spec.Put("env", name + "=" + value);
  }
  spec.Put("folder", request.asked.folder.empty() ? "/" : request.asked.folder);
  // Accounts of services may have a home that is not there: then it is the folder above.
  const std::string own = ValueOf(environment, "HOME");
  if (request.asked.folder.empty() && own.starts_with('/')) spec.Put("home", own);
  if (!notes.empty()) {
    Tell(RunNote{request.id, fmt::format("{}", fmt::join(notes, "; "))});
  }
  return {};
}

void LinuxRunner::Impl::PrepareLogs(Run& run, engine::JobSpec& spec) {
  const std::uint32_t uid = run.request.user.uid;
  run.log_row = ledger->Take(run.logs, uid);
  const auto put = [&](const char* key, double value) {
    spec.Put(key, fmt::format("{:.0f}", value));
  };
  spec.Put("logs", run.logs);
  // What is not counted with the others has next to nothing.
  put("log_limit", run.log_row < 0 ? kUncountedLog : options.log_limit.value);
  if (run.log_row < 0) return;
  spec.Put("ledger", engine::LogLedger::PathIn(options.state));
  put("log_row", run.log_row);
  put("user_log_limit", options.logs.of_user(uid).value);
  put("all_log_limit", engine::MostLogs(options.state, options.logs).value);
}

bool LinuxRunner::Impl::KnowsUser(const core::Account& account) {
  if (::geteuid() != 0) return true;  // nobody else's is needed
  KnownUser& known = users[account.uid];
  if (!known.user.groups.empty() && Now() <= known.asked + kUserKnown) return true;
  if (std::exchange(known.asking, true)) return false;
  errands->Run([this, account]() -> Errands::Then {
    return [this, account, user = UserOf(account)] {
      users[account.uid] = {user, Now(), false};
      std::vector<RunId> ready;
      for (const auto& [id, run] : runs) {
        if (run.waits && !run.spec && run.request.user.uid == account.uid) ready.push_back(id);
      }
      for (const RunId& id : ready) Begin(runs.at(id));
    };
  });
  return false;
}

void LinuxRunner::Impl::Begin(Run& run) {
  run.waits = !KnowsUser(run.request.user);
  if (!run.waits) EndIfRefused(run, Prepare(run));
}

void LinuxRunner::Impl::EndIfRefused(Run& run, const core::Result<void>& started) {
  if (started) return;
  const bool absent = started.error().kind == core::ErrorKind::kAbsent;
  Finish(run, {.exit_code = absent ? 127 : 126, .message = started.error().message});
}

void LinuxRunner::Impl::TakeErrands() {
  errands->Finish();
  if (!sharing) return;
  for (const auto& [id, joined] : sharing->Answers()) {
    Run* run = Find(id);
    if (run != nullptr && run->waits) EndIfRefused(*run, Launch(*run, joined));
  }
}

core::Result<void> LinuxRunner::Impl::Prepare(Run& run) {
  engine::JobSpec& spec = run.spec.emplace();
  if (!PutRequest(run.request, spec)) {
    return core::UsageError("an argument, a name or a value of the environment has a zero byte");
  }
  if (auto ok = PrepareFolder(run); !ok) return ok;
  PrepareBounds(run, spec, run.notes);
  auto joined = sharing ? sharing->Join(run.request) : GpuSharing::Joined{};
  run.waits = !joined;
  return joined ? Launch(run, *joined) : core::Result<void>{};
}

core::Result<void> LinuxRunner::Impl::Launch(Run& run, const GpuSharing::Joined& joined) {
  const RunRequest& request = run.request;
  engine::JobSpec spec = std::move(*run.spec);
  run.spec.reset();
  run.waits = false;
  run.pipes = joined.pipes;
  if (!joined.pipes.empty()) spec.Put("pipes", joined.pipes);
  run.mps = !joined.pipes.empty();
  if (auto ok = PrepareCommand(run, joined, spec); !ok) return ok;
  PrepareLogs(run, spec);
  spec.Put("grace_ms", Millis(options.grace));
  if (request.asked.terminal) spec.Put("terminal", "1");
  if (request.asked.umask) spec.Put("umask", fmt::format("{}", *request.asked.umask));
  if (request.asked.time_limit) {
    spec.Put("time_limit_ms",
             fmt::format("{:.0f}", std::clamp(request.asked.time_limit->value * 1e3, 1.0, 9e15)));
  }
  if (auto ok = engine::WriteSpec(run.folder, spec); !ok) return ok;
  if (inotify >= 0) run.watch = ::inotify_add_watch(inotify, run.folder.c_str(), IN_MOVED_TO);
  if (run.watch >= 0) by_watch[run.watch] = request.id;
  const auto pid = engine::StartSupervisor(supervisor, run.folder);
  RETURN_IF_ERROR(pid);
  run.supervisor = *pid;
  Watch(run);
  return {};
}

}  // namespace sharewell::engine
