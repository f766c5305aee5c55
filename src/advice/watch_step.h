// Runs a command with the watcher in it (platform/files/watcher_files.h) until it has told its
// step: how `sharewell watch` gets a told step without a server. One thread; signals that come
// meanwhile go on to the command.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "advice/watched_step.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::advice {

struct StepWatch {
  std::vector<std::string> command;
  std::int64_t steps = 2;    // it is ended once it has told its step and made so many
  bool run_on = false;       // it is not ended
  core::Seconds limit{600};  // to tell it in
  core::Seconds grace{10};   // between SIGTERM and SIGKILL
  bool output_to_stderr = false;
  std::function<void(std::int64_t)> progress = {};  // steps so far
};

// An error says why there is no step: the command could not be started, did not train with
// PyTorch, ended or was interrupted before, or took longer than the limit.
core::Result<WatchedStep> WatchStep(const StepWatch& watch);

}  // namespace sharewell::advice
