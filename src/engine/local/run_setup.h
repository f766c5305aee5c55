// What a run is started with, and what its end means in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/local/run/job_folder.h"
#include "engine/runner.h"
#include "platform/process/mps.h"
#include "platform/process/user_limits.h"

namespace sharewell::engine {

// The command's whole environment: what was asked for, and over it ours and `more`. `folder`: of
// its pipes.
platform::Environment RunEnvironment(const RunRequest& request, const std::string& folder,
                                     const platform::Environment& more);

// What a user's process is given: by the machine's user database.
struct RunUser {
  std::vector<unsigned> groups;
  std::string home, shell;
  std::vector<platform::ProcessLimit> limits;
};
RunUser UserOf(const core::Account& account);

// What a run is bounded by beside its control group: what this machine gives the user, and a number
// of processes of the user in all runs together, where one may have `most_processes`.
std::vector<platform::ProcessLimit> RunLimits(const RunUser& user, int most_processes);
// As the supervisor reads it.
std::string LimitRecord(const platform::ProcessLimit& limit);

// Why it could not be started, in words.
std::string StartFailure(const engine::JobExit& exit, const engine::JobSpec& spec);
// The last words of a program that a GPU had no memory for.
bool SaysGpuIsFull(std::string_view output);

inline constexpr const char* kWatchPipe = "SHAREWELL_WATCH_PIPE";
// Whether its user lets it be watched from inside: not with --no-watch, nor with SHAREWELL_WATCH=0.
bool MayBeWatched(const core::Submission& asked);
// Its watcher is found by Python, and knows its pipe. `python_path`: what is searched after it.
void AddWatcher(const std::string& watcher, const std::string& pipe, const std::string& python_path,
                platform::Environment& environment);

}  // namespace sharewell::engine
