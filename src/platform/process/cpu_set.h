// Sets of CPUs: as text ("0-3,8"), and what this process may use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::platform {

// Rising, each once. A usage error says what is wrong with the text: "3-1", "0,,2", "x", 1e9.
core::Result<std::vector<int>> ParseCpus(std::string_view text);
std::string FormatCpus(const std::vector<int>& cpus);  // "0-3,8"

// Those that a thread may run on (its affinity, which its cpuset bounds), rising. 0: the caller;
// empty: there is no such thread.
std::vector<int> AllowedCpus(int thread = 0);

}  // namespace sharewell::platform
