// How a run ended, and what that means for the queue.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "engine/run_end.h"
#include "engine/run_request.h"

namespace sharewell::engine {

enum class Outcome : std::uint8_t { kFinished, kFailed, kOutOfMemory, kRequeued };

struct Ended {
  core::JobId job;
  RunId run;
  RunEnd end;
  Outcome outcome = Outcome::kFailed;
  // The process of an earlier attempt is still on its way out: how that ends is told later, and it
  // may still come to its own end.
  bool earlier_leaves = false;
};

}  // namespace sharewell::engine
