// Runs another program for what it prints, and never longer than it may.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::collect {

// A tool that may hang in the kernel, where not even SIGKILL ends it: then it is left behind, and
// no second one is started until it is gone. One thread uses it.
class Tool {
 public:
  Tool() = default;
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  // What it printed (at most 256 KiB), stderr included. A failure when it cannot be started, exits
  // with an error, or is not done within `limit`: then it and what it started are killed. `stop`
  // ends it at once.
  core::Result<std::string> Run(const std::vector<std::string>& command, core::Seconds limit,
                                const std::stop_token& stop);

 private:
  // True once nothing is left of the one before.
  bool Reap();
  core::Result<int> Wait();

  int pid_ = 0;  // 0: none
};

}  // namespace sharewell::collect
