// The text of /proc/net/dev.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sharewell::collect {

struct NetworkCounts {
  std::string_view name;  // points into the text
  std::uint64_t receive_bytes = 0, receive_packets = 0, receive_errors = 0, receive_drops = 0;
  std::uint64_t transmit_bytes = 0, transmit_packets = 0, transmit_errors = 0, transmit_drops = 0;
};

// Lines that it cannot read are left out.
void ParseNetDev(std::string_view text, std::vector<NetworkCounts>& devices);

}  // namespace sharewell::collect
