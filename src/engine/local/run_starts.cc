#include "engine/local/run_starts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "core/text/quoted.h"
#include "engine/local/container.h"
#include "engine/local/run/job_files.h"
#include "engine/local/run/supervised.h"
#include "engine/local/run_setup.h"
#include "engine/local/run_spec.h"
#include "platform/process/cpu_set.h"

namespace sharewell::engine {
namespace {

using core::Seconds;

// Of a job that says none, as login gives it.
constexpr const char* kPath = "/usr/local/bin:/usr/bin:/bin";
constexpr double kUncountedLog = 64 << 10;  // bytes a stream

std::string Millis(Seconds time) {
  return fmt::format("{:.0f}", std::clamp(time.value * 1e3, 0.0, 2e9));
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

core::Result<void> PrepareFolder(LocalRun& run) {
  const auto failed = [&](const std::string& path) {
    return core::FailedError("cannot make {}: {}", core::Quoted(path), std::strerror(errno));
  };
  // One that is there has been used: no run is ever started twice.
  if (!MakeDirectory(run.folder, 0711)) return failed(run.folder);
  run.made = true;
  if (!MakeLogFolder(run.logs)) return failed(run.logs);
  const auto& user = run.request.user;
  for (const char* name : {kProgressFile, kMetricsFile, kWatchFile}) {
    if (name == kWatchFile && !run.watched) continue;
    const std::string pipe = run.folder + "/" + name;
    // A pipe takes no disk, whatever the job does with it.
    if (::mkfifo(pipe.c_str(), 0600) != 0) return failed(pipe);
    if (::geteuid() == 0 && ::lchown(pipe.c_str(), user.uid, user.gid) != 0) return failed(pipe);
  }
  return {};
}

}  // namespace

void RunStarts::PrepareBounds(LocalRun& run, JobSpec& spec) {
  const RunRequest& request = run.request;
  platform::CgroupLimits limits;
  limits.memory = request.asked.memory;
  limits.processes = book_.options.most_processes;
  limits.cpu_time = std::numeric_limits<double>::infinity();
  limits.cpus = cpus_.Take(run);
  if (limits.cpus) {
    // Whole cores are bounded by the set alone.
    if (request.cores > 0 && request.cores != std::floor(request.cores)) {
      limits.cpu_time = request.cores;
    }
    spec.Put("given_cpus", platform::FormatCpus(*limits.cpus));
  }
  run.group = book_.home->Make(book_.GroupName(request.id), limits);
  // What can never be bounded here is one short sentence, and told once; `doctor` has the rest.
  std::vector<std::string> never;
  bool asked_for = false;
  for (const platform::Unbounded& missing : run.group->missing()) {
    const bool asked = request.asked.memory && missing.controller == "memory";
    if (missing.never) {
      never.push_back(missing.what);
      asked_for = asked_for || asked;
    } else if (asked || book_.IsNews(missing.why)) {
      run.notes.push_back(missing.why);
    }
  }
  const std::string note = fmt::format(
      "{} not bounded here; `sharewell doctor` says how they can be", fmt::join(never, ", "));
  if (!never.empty() && (asked_for || book_.IsNews(note))) run.notes.push_back(note);
  for (const std::string& procs : run.group->procs()) spec.Put("enter", procs);
  if (!run.group->folder().empty()) spec.Put("group_folder", run.group->folder());
  if (!run.group->NoForksFile().empty()) spec.Put("no_forks", run.group->NoForksFile());
  if (!run.group->KillFile().empty()) spec.Put("kill_all", run.group->KillFile());
  if (limits.cpus && request.cores > 0 && !run.group->Bounds("cpuset")) {
    spec.Put("cpus", platform::FormatCpus(*limits.cpus));
  }
}

void RunStarts::PrepareUser(const LocalRun& run, platform::Environment& environment, JobSpec& spec,
                            std::vector<std::string>& notes) {
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
  const RunUser& known = users_.Of(account.uid);
  spec.Put("uid", fmt::format("{}", account.uid));
  spec.Put("gid", fmt::format("{}", account.gid));
  for (const unsigned group : known.groups) spec.Put("group", fmt::format("{}", group));
  AddUnlessThere(environment, "HOME", known.home);
  AddUnlessThere(environment, "USER", account.name);
  AddUnlessThere(environment, "LOGNAME", account.name);
  AddUnlessThere(environment, "SHELL", known.shell);
}

core::Result<std::vector<std::string>> RunStarts::InContainer(
    LocalRun& run, const GpuSharing::Joined& joined, platform::Environment& environment,
    const std::vector<platform::ProcessLimit>& limits, JobSpec& spec,
    std::vector<std::string>& notes) const {
  const RunRequest& request = run.request;
  RETURN_IF_ERROR(CheckImage(request.asked.image));
  const auto runtime = FindContainerRuntime();
  RETURN_IF_ERROR(runtime);
  ContainerPlace place;
  place.name = book_.GroupName(request.id);
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
  place.limits = limits;
  place.in_cgroup = !run.group->procs().empty();
  place.folders = {run.folder + "/" + kProgressFile, run.folder + "/" + kMetricsFile};
  if (!joined.pipes.empty()) place.folders.push_back(joined.pipes);
  run.watched = run.watched && CanBeWatched(*runtime);
  if (run.watched) {
    const std::string pipe = run.folder + "/" + kWatchFile;
    place.watcher = book_.options.watcher;
    place.folders.push_back(pipe);
    std::erase_if(environment, [](const auto& one) { return one.first == "PYTHONPATH"; });
    environment.emplace_back(kWatchPipe, pipe);
  }
  place.environment = environment;
  for (const std::string& word : ContainerRemoval(*runtime, place.name)) spec.Put("cleanup", word);
  return ContainerCommand(*runtime, request, place);
}

core::Result<void> RunStarts::PrepareCommand(LocalRun& run, const GpuSharing::Joined& joined,
                                             JobSpec& spec) {
  const RunRequest& request = run.request;
  if (request.asked.command.empty() || request.asked.command.front().empty()) {
    return core::UsageError("the command is empty; give a program to run");
  }
  std::vector<std::string> notes = run.notes;
  notes.insert(notes.end(), joined.notes.begin(), joined.notes.end());
  platform::Environment environment = RunEnvironment(request, run.folder, joined.environment);
  PrepareUser(run, environment, spec, notes);
  const auto limits = RunLimits(::geteuid() == 0 ? users_.Of(request.user.uid) : RunUser(),
                                book_.options.most_processes);
  for (const auto& limit : limits) spec.Put("rlimit", LimitRecord(limit));
  const bool contained = !request.asked.image.empty();
  if (!contained) {
    AddUnlessThere(environment, "PATH", kPath);  // images have theirs
    if (run.watched) {
      AddWatcher(book_.options.watcher, run.folder + "/" + kWatchFile,
                 ValueOf(environment, "PYTHONPATH"), environment);
    }
  }
  const auto words = contained ? InContainer(run, joined, environment, limits, spec, notes)
                               : core::Result<std::vector<std::string>>(request.asked.command);
  RETURN_IF_ERROR(words);
  for (const std::string& word : *words) spec.Put("arg", word);
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
    book_.Emit(RunNote{request.id, fmt::format("{}", fmt::join(notes, "; "))});
  }
  return {};
}

void RunStarts::PrepareLogs(LocalRun& run, JobSpec& spec) {
  const LinuxRunnerOptions& options = book_.options;
  const std::uint32_t uid = run.request.user.uid;
  run.log_row = book_.ledger->Take(run.logs, uid);
  const auto put = [&](const char* key, double value) {
    spec.Put(key, fmt::format("{:.0f}", value));
  };
  spec.Put("logs", run.logs);
  // What is not counted with the others has next to nothing.
  put("log_limit", run.log_row < 0 ? kUncountedLog : options.log_limit.value);
  if (run.log_row < 0) return;
  spec.Put("ledger", LogLedger::PathIn(options.state));
  put("log_row", run.log_row);
  put("user_log_limit", options.logs.of_user(uid).value);
  put("all_log_limit", MostLogs(options.state, options.logs).value);
}

void RunStarts::Begin(LocalRun& run) {
  run.waits = !users_.Knows(run.request.user, book_.Now());
  if (!run.waits) EndIfRefused(run, Prepare(run));
}

void RunStarts::EndIfRefused(LocalRun& run, const core::Result<void>& started) {
  if (started) return;
  const bool absent = started.error().kind == core::ErrorKind::kAbsent;
  watch_.Finish(run, {.exit_code = absent ? 127 : 126, .message = started.error().message});
}

void RunStarts::TakeErrands() {
  for (const std::uint32_t uid : users_.Answers(book_.Now())) {
    std::vector<RunId> ready;
    for (const auto& [id, run] : book_.runs) {
      if (run.waits && !run.spec && run.request.user.uid == uid) ready.push_back(id);
    }
    for (const RunId& id : ready) Begin(book_.runs.at(id));
  }
  if (!book_.sharing) return;
  for (const auto& [id, joined] : book_.sharing->Answers()) {
    LocalRun* run = book_.Find(id);
    if (run != nullptr && run->waits) EndIfRefused(*run, Launch(*run, joined));
  }
}

core::Result<void> RunStarts::Prepare(LocalRun& run) {
  JobSpec& spec = run.spec.emplace();
  if (!PutRequest(run.request, spec)) {
    return core::UsageError("an argument, a name or a value of the environment has a zero byte");
  }
  run.watched = !book_.options.watcher.empty() && MayBeWatched(run.request.asked);
  RETURN_IF_ERROR(PrepareFolder(run));
  PrepareBounds(run, spec);
  auto joined = book_.sharing ? book_.sharing->Join(run.request) : GpuSharing::Joined{};
  run.waits = !joined;
  return joined ? Launch(run, *joined) : core::Result<void>{};
}

core::Result<void> RunStarts::Launch(LocalRun& run, const GpuSharing::Joined& joined) {
  const RunRequest& request = run.request;
  JobSpec spec = std::move(*run.spec);
  run.spec.reset();
  run.waits = false;
  run.pipes = joined.pipes;
  if (!joined.pipes.empty()) spec.Put("pipes", joined.pipes);
  run.mps = !joined.pipes.empty();
  RETURN_IF_ERROR(PrepareCommand(run, joined, spec));
  PrepareLogs(run, spec);
  spec.Put("grace_ms", Millis(book_.options.grace));
  if (request.asked.terminal) spec.Put("terminal", "1");
  if (request.asked.umask) spec.Put("umask", fmt::format("{}", *request.asked.umask));
  if (request.asked.time_limit) {
    spec.Put("time_limit_ms",
             fmt::format("{:.0f}", std::clamp(request.asked.time_limit->value * 1e3, 1.0, 9e15)));
  }
  RETURN_IF_ERROR(WriteSpec(run.folder, spec));
  signals_.WatchFolder(run);
  const auto pid = StartSupervisor(book_.supervisor, run.folder);
  RETURN_IF_ERROR(pid);
  run.supervisor = *pid;
  watch_.Begin(run);
  return {};
}

}  // namespace sharewell::engine
