// Any bytes as Gavel's throughput JSON: rates above zero, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "catalogue/gavel_throughputs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto measured = sharewell::catalogue::ReadGavelThroughputs(text, "fuzz");
  if (!measured) {
    if (measured.error().message.empty()) __builtin_trap();
    return 0;
  }
  for (const auto& profile : measured->profiles) {
    if (!profile.steps_per_second || !(*profile.steps_per_second > 0)) __builtin_trap();
  }
  for (const auto& pair : measured->pairs) {
    if (pair.fits != (pair.steps_per_second_a > 0)) __builtin_trap();
  }
  return 0;
}
