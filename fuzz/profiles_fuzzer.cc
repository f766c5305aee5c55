// Any bytes as a file of profiles: read with figures in their bounds, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "catalogue/profiles_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto profiles = sharewell::catalogue::ReadProfilesText(text, "fuzz.csv");
  if (!profiles) {
    if (profiles.error().message.empty()) __builtin_trap();
    return 0;
  }
  for (const auto& profile : *profiles) {
    for (const auto& share : {profile.busy, profile.sm, profile.dram}) {
      if (share && !(*share >= 0 && *share <= 1)) __builtin_trap();
    }
    if (profile.workload.name.empty() || profile.gpu.empty()) __builtin_trap();
  }
  return 0;
}
