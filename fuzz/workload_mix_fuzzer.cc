// Any bytes as a mix of workloads: read, or refused with a reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "catalogue/workload_mix.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto mix = sharewell::catalogue::ReadMixText(text, "fuzz");
  if (!mix) {
    if (mix.error().message.empty()) __builtin_trap();
    return 0;
  }
  if (mix->parts.empty()) __builtin_trap();
  for (const auto& part : mix->parts) {
    if (part.workload.name.empty()) __builtin_trap();
    if (!std::isfinite(part.weight) || part.weight <= 0) __builtin_trap();
  }
  return 0;
}
