// `sharewell evaluate`: how far predictions are off on what was held out.
#pragma once

#include <memory>

#include "cli/args/command.h"

namespace sharewell::cli {

std::unique_ptr<Command> NewEvaluateCommand();

}  // namespace sharewell::cli
