// The program that a command names, as a shell would find it.
#pragma once

#include <string>

#include "core/result.h"

namespace sharewell::platform {

// `name` with a slash: that file. Without: the first executable of that name in `path` ($PATH). A
// usage error says what is wrong and, where there is one, which name of PATH is nearest.
core::Result<std::string> FindProgram(const std::string& name, const std::string& path);

}  // namespace sharewell::platform
