// How a run ended, as its runner measured it. What that means for the queue is LiveEngine's to say
// (live/live_engine.h, Outcome).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "engine/run_request.h"

namespace sharewell::engine {

// It ended within a moment of others that shared its GPU through one MPS server: the GPU broke
// under all of them.
struct Fall {
  enum class Part : std::uint8_t {
    kUnknown,   // it may have been its doing
    kCulprit,   // it was
    kInnocent,  // it was another's
  };
  Part part = Part::kUnknown;
  std::vector<RunId> with;  // the others, rising
  std::optional<RunId> culprit;

  friend bool operator==(const Fall&, const Fall&) = default;
};

struct RunEnd {
  int exit_code = 0;  // as a shell has it: 128 + signal
  int signal = 0;
  bool out_of_memory = false;  // of a GPU
  bool timed_out = false;      // its own time limit
  bool lost = false;           // the machine went down under it, or its supervisor was killed
  bool stopped = false;        // somebody asked it to end: us, or a machine that was shut down
  bool refused = false;        // it never began: StartRefused
  std::optional<core::Seconds> ran = {};  // as its supervisor saw it
  std::optional<Fall> fall = {};
  std::string message = {};  // why it could not be started, or what is known; may be empty
};

}  // namespace sharewell::engine
