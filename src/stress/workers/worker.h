// Worker: one thread's way of pressing, in pieces. PacedThreads decides when.
#pragma once

#include "core/result.h"

namespace sharewell::stress {

class Worker {
 public:
  virtual ~Worker() = default;
  // Both on the worker's own thread. Prepare once, before anything is timed: memory touched, files
  // written.
  virtual core::Result<void> Prepare() = 0;
  // Does `amount` and returns what was done, which may be a little more or less. After an error it
  // is not called again.
  virtual core::Result<double> Do(double amount) = 0;
};

}  // namespace sharewell::stress
