#pragma once

#include <memory>

#include "cli/args/command.h"

namespace sharewell::cli {

std::unique_ptr<Command> NewTopCommand();

}  // namespace sharewell::cli
