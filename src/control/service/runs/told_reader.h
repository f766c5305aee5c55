// ToldReader: reads what the watcher inside a job told of its step, and predicts from it, somewhere
// else and within bounds. `server` implements it; a fake in tests.
#pragma once

#include <functional>
#include <string>

#include "core/job/job_record.h"
#include "core/job/told.h"
#include "core/result.h"

namespace sharewell::control {

class ToldReader {
 public:
  using Answer = std::function<void(core::Result<core::Told>)>;

  virtual ~ToldReader() = default;
  // Never waits. The answer comes once, on any thread; where too much waits already, at once.
  // `job`: as it is now.
  virtual void Read(const core::JobRecord& job, std::string document, Answer answer) = 0;
};

}  // namespace sharewell::control
