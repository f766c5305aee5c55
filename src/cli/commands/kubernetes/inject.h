// `sharewell kubernetes inject`: pods from its input, with what they need to be placed by us.
#pragma once

#include <string>

#include "cli/args/command.h"
#include "core/result.h"

namespace sharewell::cli {

core::Result<ExitCode> InjectFromInput(const std::string& scheduler);

}  // namespace sharewell::cli
