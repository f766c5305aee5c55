#include "engine/local/run_setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/text/quoted.h"
#include "engine/local/run/job_files.h"
#include "platform/process/find_program.h"
#include "platform/process/user_account.h"

namespace sharewell::engine {
namespace {

constexpr const char* kWatchSwitch = "SHAREWELL_WATCH";

}  // namespace

platform::Environment RunEnvironment(const RunRequest& request, const std::string& folder,
                                     const platform::Environment& more) {
  const auto simulated = std::count_if(request.gpus.begin(), request.gpus.end(), [](const auto& g) {
    return g.uuid.starts_with("simulated-");
  });
  std::string devices;
  for (const core::GivenGpu& gpu : request.gpus) {
    if (simulated == 0) devices += (devices.empty() ? "" : ",") + gpu.uuid;
  }
  platform::Environment ours{{"SHAREWELL_JOB", std::to_string(request.id.job)},
                             {"SHAREWELL_ATTEMPT", std::to_string(request.id.attempt)},
                             {"SHAREWELL_PROGRESS", folder + "/" + kProgressFile},
                             {"SHAREWELL_METRICS", folder + "/" + kMetricsFile},
                             {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                             {"CUDA_VISIBLE_DEVICES", devices}};
  if (simulated > 0) ours.emplace_back("SHAREWELL_SIMULATED_GPUS", std::to_string(simulated));
  ours.insert(ours.end(), more.begin(), more.end());
  platform::Environment all;
  const auto has = [](const platform::Environment& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto& one) { return one.first == name; });
  };
  for (const auto& entry : request.asked.environment) {
    if (!has(ours, entry.first)) all.push_back(entry);
  }
  // A program that sees all of the machine's cores would start a thread for each.
  if (request.cores > 0 && !has(all, "OMP_NUM_THREADS")) {
    all.emplace_back("OMP_NUM_THREADS",
                     std::to_string(std::max(1, static_cast<int>(request.cores))));
  }
  all.insert(all.end(), ours.begin(), ours.end());
  return all;
}

bool MayBeWatched(const core::Submission& asked) {
  const auto off = [](const auto& one) { return one.first == kWatchSwitch && one.second == "0"; };
  return asked.watch && std::none_of(asked.environment.begin(), asked.environment.end(), off);
}

void AddWatcher(const std::string& watcher, const std::string& pipe, const std::string& python_path,
                platform::Environment& environment) {
  const auto put = [&](const char* name, std::string value) {
    std::erase_if(environment, [&](const auto& one) { return one.first == name; });
    environment.emplace_back(name, std::move(value));
  };
  // A job that a watched job submits brings its path.
  const bool there = python_path == watcher || python_path.starts_with(watcher + ":");
  put("PYTHONPATH", there                 ? python_path
                    : python_path.empty() ? watcher
                                          : watcher + ":" + python_path);
  put(kWatchPipe, pipe);
}

namespace {

// One user must not leave the others without processes: these many runs with all of theirs, and
// this part of the machine's.
constexpr rlim_t kUserRuns = 4, kUserPart = 4;

}  // namespace

RunUser UserOf(const core::Account& account) {
  RunUser user;
  std::string name = account.name;
  if (auto known = platform::UserWithUid(account.uid)) {
    name = known->name;
    user.home = std::move(known->home);
    user.shell = std::move(known->shell);
    user.limits = platform::UserLimits(*known);
  }
  const auto groups = platform::GroupsOfUser(name, account.gid);
  user.groups.assign(groups.begin(), groups.end());
  return user;
}

std::vector<platform::ProcessLimit> RunLimits(const RunUser& user, int most_processes) {
  std::vector<platform::ProcessLimit> limits = user.limits;
  // Threads count too, as the kernel counts them.
  rlim_t most = kUserRuns * static_cast<rlim_t>(std::max(most_processes, 1));
  std::ifstream file("/proc/sys/kernel/pid_max");
  if (rlim_t machine = 0; file >> machine) most = std::min(most, machine / kUserPart);
  auto own = std::find_if(limits.begin(), limits.end(),
                          [](const auto& one) { return one.resource == RLIMIT_NPROC; });
  if (own == limits.end()) own = limits.insert(own, {RLIMIT_NPROC, std::nullopt, most});
  own->hard = std::min(own->hard.value_or(most), most);
  return limits;
}

std::string LimitRecord(const platform::ProcessLimit& limit) {
  const auto number = [](std::optional<rlim_t> value) {
    return value ? std::to_string(*value) : std::string("-");
  };
  return fmt::format("{} {} {}", limit.resource, number(limit.soft), number(limit.hard));
}

std::string StartFailure(const engine::JobExit& exit, const engine::JobSpec& spec) {
  const std::string why = std::strerror(exit.error);
  const auto shown = [&](std::string_view key) {
    return core::Quoted(spec.Get(key).value_or(std::string_view()));
  };
  if (exit.failed == engine::kFailedFolder) {
    return fmt::format("cannot start in folder {}: {}", shown("folder"), why);
  }
  if (exit.failed == engine::kFailedGroup) {
    return fmt::format("cannot enter its control group {}: {}", shown("enter"), why);
  }
  if (exit.failed == engine::kFailedCpus) {
    return fmt::format("cannot run on CPUs {}: {}", shown("cpus"), why);
  }
  if (exit.failed == engine::kFailedUser) {
    return fmt::format("cannot become user {}: {}", shown("user"), why);
  }
  if (exit.failed == engine::kFailedTerminal) {
    return fmt::format("cannot make a terminal for it: {}; is /dev/pts mounted on this machine?",
                       why);
  }
  if (exit.failed != engine::kFailedExec) {
    return fmt::format("cannot start {}: {}", shown("arg"), why);
  }
  if (exit.error == E2BIG) {
    return fmt::format(
        "cannot run {}: its arguments and environment are too long; pass them in a file",
        shown("arg"));
  }
  if (exit.error == EAGAIN) {
    return fmt::format(
        "cannot run {}: its user has as many processes and threads as they may; end some, or ask "
        "the administrator (limits.conf)",
        shown("arg"));
  }
  if (exit.error == ENOEXEC) {
    return fmt::format("cannot run {}: it is no program for this machine", shown("arg"));
  }
  // Root does not look around in folders for others: names there may not be theirs to know.
  if (::geteuid() == 0) {
    return fmt::format(
        "cannot run {}: {}{}", shown("arg"), why,
        exit.error == ENOENT ? "; it was not found in the job's PATH, or the interpreter that its "
                               "first line names was not"
        : exit.error == EACCES ? "; it may not be run by the job's user, or is a folder"
                               : "");
  }
  std::string path = "/usr/bin:/bin";
  for (const std::string_view entry : spec.All("env")) {
    if (entry.starts_with("PATH=")) path = entry.substr(5);
  }
  std::string program(spec.Get("arg").value_or(std::string_view()));
  if (program.find('/') != program.npos && program.front() != '/') {
    program = std::string(spec.Get("folder").value_or("")) + "/" + program;
  }
  const auto found = platform::FindProgram(program, path);
  if (!found) return found.error().message;
  if (exit.error != ENOENT) return fmt::format("cannot run {}: {}", core::Quoted(*found), why);
  return fmt::format("cannot run {}: the interpreter that its first line names is not there",
                     core::Quoted(*found));
}

bool SaysGpuIsFull(std::string_view output) {
  constexpr std::array<std::string_view, 7> kWords = {
      "CUDA out of memory",         "CUDA_ERROR_OUT_OF_MEMORY",
      "cudaErrorMemoryAllocation",  "CUDA error: out of memory",
      "CUBLAS_STATUS_ALLOC_FAILED", "RESOURCE_EXHAUSTED: Out of memory",
      "torch.OutOfMemoryError"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view words) { return output.find(words) != output.npos; });
}

}  // namespace sharewell::engine
