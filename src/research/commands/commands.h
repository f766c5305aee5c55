// Every command of `sharewell-lab`. Each is a class of its own in the file that is named after it.
#pragma once

#include <memory>

#include "cli/args/command.h"

namespace sharewell::research {

std::unique_ptr<cli::Command> NewReproduceCommand();
std::unique_ptr<cli::Command> NewEvaluateCommand();
std::unique_ptr<cli::Command> NewTrainCommand();
// cli/simulate, with the optima of optimum/compare.h.
std::unique_ptr<cli::Command> NewSimulateCommand();
// cli/args/completion_command.cc
std::unique_ptr<cli::Command> NewCompletionCommand();

// `sharewell-lab` itself (commands.cc).
const cli::Program& LabProgram();

}  // namespace sharewell::research
