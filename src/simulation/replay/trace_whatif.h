// TraceWhatIf: the same figures as WhatIf, of a trace that somebody brings, on given machines.
#pragma once

#include <span>
#include <string>

#include "core/result.h"
#include "simulation/replay/whatif.h"
#include "simulation/scenario.h"

namespace sharewell::simulation {

// Policies are told what jobs need and how long they take with the simulator's usual errors
// (docs/simulator.md). What really happened is known where the trace tells how long jobs waited.
// Jobs are named by the trace and have no number. Errors as WhatIf's.
core::Result<WhatIfResult> TraceWhatIf(const Scenario& scenario,
                                       std::span<const std::string> policies,
                                       const WhatIfOptions& options);

}  // namespace sharewell::simulation
