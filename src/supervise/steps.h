// The steps of a job: its lines come through a pipe with a name, which can take no disk, and their
// count goes into a small file whose room was taken before the command began
// (docs/formats/steps.md). A second pipe is for the watcher inside the job: its steps count while
// the job tells none itself, and what else it says is kept in a file of a bounded size. A third one
// is for the numbers that the job tells of itself: the last of each is kept like the count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/files/metric_lines.h"
#include "platform/files/step_lines.h"
#include "platform/files/watch_counter.h"

namespace sharewell::supervise {

struct Steps {
  int pipe = -1;  // to read from; does not block. -1: there is none, and no step is counted
  int file = -1;
  std::int64_t told = -1;
  platform::StepLines lines;
  int watch = -1;  // the watcher's pipe, likewise; -1: there is none
  int kept = -1;   // the file of what the watcher told; -1: nothing is kept
  std::size_t kept_bytes = 0;
  bool reports = false;  // the job counts its steps itself, and that is written down
  platform::WatchCounter watched;
  int metrics = -1;       // the pipe of its metrics; -1: there is none
  int metrics_told = -1;  // the file of what they are; -1: they are not kept
  platform::MetricLines metric_lines;
};

// The pipes are read no more often than this. Each holds so much at most, which bounds what a job
// that floods it costs: the job waits, and we do not work.
constexpr std::int64_t kStepsEvery = 50;  // ms

// False: the file cannot be written.
bool OpenSteps(int folder, Steps& out);
// Counts what is in the pipes now, and writes down what changed. `unix_now` in milliseconds.
void ReadSteps(Steps& steps, std::int64_t unix_now);

}  // namespace sharewell::supervise
