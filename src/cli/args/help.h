// Help texts, made from the command table and the flags that the commands add.
#pragma once

#include <string>

#include "cli/args/command.h"

namespace sharewell::cli {

// All commands, or those of every day.
std::string ProgramHelp(const Program& program, bool all);
std::string CommandHelp(const Program& program, const CommandEntry& entry, const CLI::App& app);

}  // namespace sharewell::cli
