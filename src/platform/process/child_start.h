// The narrow way from a fork to a running program; platform/process/child.h is for everyone else.
#pragma once

#include <string>

#include "core/result.h"
#include "platform/process/child.h"

namespace sharewell::platform {

struct ChildStart {
  int out = 1, err = 2;     // what the child has as stdout and stderr
  bool own_session = true;  // else it stays in our process group
};

// The pid of a process in which the program has begun. `mark` is added to its environment.
core::Result<int> StartProcess(const ChildOptions& options, const std::string& mark,
                               const ChildStart& start);

}  // namespace sharewell::platform
