// The texts about memory: /proc/meminfo, /proc/vmstat, and a NUMA node's meminfo and numastat.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sharewell::collect {

// Calls `use` with each key and its value in bytes. The lines of a NUMA node's meminfo begin with
// "Node N", which is passed over; lines without a unit are counts, and left out.
void ParseMeminfo(std::string_view text,
                  const std::function<void(std::string_view key, double bytes)>& use);
// The same of lines "KEY N": /proc/vmstat, numastat.
void ParseKeyedCounts(std::string_view text,
                      const std::function<void(std::string_view key, std::uint64_t value)>& use);

}  // namespace sharewell::collect
