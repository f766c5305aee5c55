// From a fork to the running command.
#pragma once

#include <sys/types.h>

#include "supervise/spec.h"

namespace sharewell::supervise {

// What did not work in the child before the command ran.
struct Failure {
  char where[8];  // one of platform::kFailed...; empty: nothing failed
  int error;
};

struct Started {
  pid_t pid = -1;
  int out = -1, err = -1;  // to read what it writes from; do not block
  int failure = -1;        // a Failure, or the end once the command runs
};

// `terminal`: what it reads and writes, and is controlled by; -1: it reads nothing and writes to
// pipes. False: there is no process; errno says why.
bool StartCommand(const Spec& spec, const char* oom_score, int terminal, Started& out);
// Runs spec.cleanup as the command was run, for at most 10 s.
void RunCleanup(const Spec& spec, const char* oom_score);

}  // namespace sharewell::supervise
