// A site's own history under other policies: what `sharewell whatif --trace` and `sharewell slurm
// preview` run.
#pragma once

#include "cli/commands/commands.h"
#include "cli/simulate/simulate_request.h"
#include "core/result.h"
#include "report/simulation/simulation.h"
#include "simulation/replay/switch_over.h"

namespace sharewell::cli {

struct SwitchOverRun {
  report::SimulationReport report;
  simulation::SwitchOverResult result;

  ExitCode ExitCodeOf() const;  // kFinishedWithFailures: jobs were left
};

// Of the flags' files, with a progress bar.
core::Result<SwitchOverRun> RunSwitchOver(const SimulateFlags& flags);

}  // namespace sharewell::cli
