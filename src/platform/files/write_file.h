// Writes a file whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"

namespace sharewell::platform {

// Writes a temporary file in the same folder, makes it durable and renames it over `path`: a reader
// sees the old contents or the new, never a part. On failure the old file is as it was and no
// temporary is left. An existing file keeps its permissions; a link is followed. What is no regular
// file (a pipe, /dev/stdout) is written to directly.
core::Result<void> WriteFile(const std::string& path, std::string_view contents);

}  // namespace sharewell::platform
