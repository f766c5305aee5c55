// Runs Python files that the program carries inside itself (platform/files/embedded.h) with the
// Python that the user has: the one that `python3` names in PATH, with whatever is installed there.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::platform {

struct PythonFile {
  std::string_view name;  // "operators.py"
  std::string_view text;
};

// Writes the files into `folder`, beside one another, and gives the command that runs the first of
// them; arguments go behind it. kAbsent, in words, where there is no python3.
core::Result<std::vector<std::string>> PythonCommand(const std::string& folder,
                                                     std::initializer_list<PythonFile> files);

}  // namespace sharewell::platform
