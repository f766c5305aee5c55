// Any bytes as a profiler trace: figures in their bounds, or refused with a reason. Cut at any
// place it still gives one or the other.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "import/kineto.h"

namespace {

void Check(std::string_view text) {
  const auto record = sharewell::imports::ReadKinetoText(text, "fuzz.json");
  if (!record) {
    if (record.error().message.empty()) __builtin_trap();
    return;
  }
  if (record->profile.busy && !(*record->profile.busy >= 0 && *record->profile.busy <= 1)) {
    __builtin_trap();
  }
  for (const auto& kernel : record->kernels) {
    if (kernel.launches < 1 || !(kernel.time.value >= 0) || !std::isfinite(kernel.time.value)) {
      __builtin_trap();
    }
    if (kernel.occupancy && !(*kernel.occupancy >= 0 && *kernel.occupancy <= 1.0000001)) {
      __builtin_trap();
    }
  }
  for (const auto& figure : record->figures) {
    if (!std::isfinite(figure.mean) || !std::isfinite(figure.most)) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Check(text);
  Check(text.substr(0, size / 2));
  return 0;
}
