// Completion scripts for shells, made from the command table: commands, their flags, and what may
// stand behind each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::cli {

std::vector<std::string> Shells();

// None for a shell that is not among them.
std::optional<std::string> CompletionScript(std::string_view shell);

}  // namespace sharewell::cli
