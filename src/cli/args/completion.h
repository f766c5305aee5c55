// Completion scripts for shells, made from the command table: commands, their flags, and what may
// stand behind each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/args/command.h"

namespace sharewell::cli {

std::vector<std::string> Shells();

// None for a shell that is not among them.
std::optional<std::string> CompletionScript(const Program& program, std::string_view shell);

// The command that prints them. REQUIRES: `program` outlives it.
std::unique_ptr<Command> NewCompletionOf(const Program& program);

}  // namespace sharewell::cli
