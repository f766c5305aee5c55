// A program: finds the command, parses its flags, runs it, and turns what went wrong into one
// line on stderr and an exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/args/command.h"

namespace sharewell::cli {

// `args` without the program's name. Never throws.
int RunProgram(const Program& program, const std::vector<std::string>& args);

}  // namespace sharewell::cli
