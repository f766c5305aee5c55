// Any bytes as measured pairs (our CSV, or Gavel's JSON): read, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "catalogue/pairs_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto measured = sharewell::catalogue::ReadPairsText(text, "fuzz");
  if (!measured) {
    if (measured.error().message.empty()) __builtin_trap();
    return 0;
  }
  for (const auto& pair : measured->pairs) {
    if (!(pair.steps_per_second_a >= 0 && pair.steps_per_second_b >= 0)) __builtin_trap();
  }
  return 0;
}
