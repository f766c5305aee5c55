// A Slurm site's history, asked of the sacct of this machine.
#pragma once

#include <string>

#include "core/result.h"

namespace sharewell::cli {

// All jobs since then, as trace::ReadSacct reads them. `since`, `before`: 2026-01-01 or
// 2026-01-01T12:00:00, in UTC; `before` and `partition` may be empty.
core::Result<std::string> AskSacct(const std::string& since, const std::string& before,
                                   const std::string& partition);

}  // namespace sharewell::cli
