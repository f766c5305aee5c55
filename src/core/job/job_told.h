// JobTold: what the watcher inside a job of a cluster told so far, as the agent on its node
// (`sharewell monitor`) hands it on: bytes of the job's user that nobody has looked into yet
// (docs/formats/told-step.md).
#pragma once

#include <string>

#include "core/metric.h"

namespace sharewell::core {

struct JobTold {
  std::string job;            // as agents call it: "slurm/17", "pod/UID"
  UnixMillis time = 0;        // when it was read
  bool counts_steps = false;  // the watcher counts its steps; else the job does, or nobody
  std::string document;       // of its step, the newest; empty: none yet
  std::string off;            // why it watches no more; empty: it does

  friend bool operator==(const JobTold&, const JobTold&) = default;
};

}  // namespace sharewell::core
