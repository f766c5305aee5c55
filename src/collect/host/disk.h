// The text of /proc/diskstats.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sharewell::collect {

struct DiskCounts {
  std::string_view name;  // points into the text
  std::uint64_t reads = 0, read_sectors = 0, read_ms = 0;
  std::uint64_t writes = 0, written_sectors = 0, write_ms = 0;
  std::uint64_t in_flight = 0, busy_ms = 0;
};

// Partitions included. Lines that it cannot read, and columns of newer kernels, are left out.
void ParseDiskstats(std::string_view text, std::vector<DiskCounts>& disks);

}  // namespace sharewell::collect
