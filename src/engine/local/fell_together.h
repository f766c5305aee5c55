// Runs that ended together under one MPS server. A fatal fault of one client (an illegal address)
// ends all of them within a moment, each with an exit code of its own making: nothing in it tells
// the innocent from the culprit, only the time does, and the driver where it names a process.
// Running out of memory, a device-side assert and SIGKILL end one client alone.
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/job/job_record.h"
#include "core/units.h"
#include "engine/runner.h"

namespace sharewell::engine {

// A neighbour may notice only with its next step, after it has read data or saved its work.
constexpr core::Seconds kFallTogether{5};

struct MpsEnd {
  RunId id;
  std::string daemon;          // what they have in common
  core::UnixMillis ended = 0;  // as its supervisor saw it
  bool blamed = false;         // the driver named a process of it
  bool stranger = false;       // it was a guest, and had not run for long
};

// Whether an end may be the GPU's doing: it failed by itself, in no way that has a reason of its
// own.
bool MayBeAFall(const RunEnd& end);

// What became of each, in the order of `ends`; absent: it failed alone. Those of one daemon whose
// ends lie within kFallTogether of the first have fallen together. Where one of them alone was a
// stranger, it is the culprit: the others had run well until it came. Else whom the driver names.
std::vector<std::optional<Fall>> FellTogether(const std::vector<MpsEnd>& ends);

}  // namespace sharewell::engine
