// The steps of a job: its lines come through a pipe with a name, which can take no disk, and their
// count goes into a small file whose room was taken before the command began
// (docs/formats/steps.md).
#pragma once

#include <cstdint>

#include "platform/files/step_lines.h"

namespace sharewell::supervise {

struct Steps {
  int pipe = -1;  // to read from; does not block. -1: there is none, and no step is counted
  int file = -1;
  std::int64_t told = -1;
  platform::StepLines lines;
};

// A pipe is read no more often than this. It holds so much at most, which bounds what a job that
// floods it costs: the job waits, and we do not work.
constexpr std::int64_t kStepsEvery = 50;  // ms

// False: the file cannot be written.
bool OpenSteps(int folder, Steps& out);
// Counts what is in the pipe now, and writes the count down if it changed.
void ReadSteps(Steps& steps);

}  // namespace sharewell::supervise
