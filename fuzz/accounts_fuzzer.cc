// Any bytes as /etc/subuid and as limits.conf: what is no line of theirs is left out, and what is
// one has an owner or a domain.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "platform/process/subordinate_uids.h"
#include "platform/process/user_limits.h"

namespace platform = sharewell::platform;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const platform::SubordinateRange& range : platform::ReadSubordinateRanges(text)) {
    if (range.owner.empty()) __builtin_trap();
  }
  const auto lines = platform::ReadLimitLines(text);
  for (const platform::LimitLine& line : lines) {
    if (line.domain.empty() || (!line.soft && !line.hard)) __builtin_trap();
  }
  const platform::UserAccount ann{"ann", 1000, 1000, "/home/ann", "/bin/sh"};
  int before = -1;
  for (const auto& limit : platform::LimitsOf(lines, ann, {1000, 50}, {"ann", "staff"})) {
    if (limit.resource <= before || (!limit.soft && !limit.hard)) __builtin_trap();
    before = limit.resource;
  }
  return 0;
}
