#pragma once

#include <memory>

#include "cli/args/command.h"

namespace sharewell::cli {

std::unique_ptr<Command> NewCancelCommand();
std::unique_ptr<Command> NewHoldCommand();
std::unique_ptr<Command> NewReleaseCommand();

}  // namespace sharewell::cli
