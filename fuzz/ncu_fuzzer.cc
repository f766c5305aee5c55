// Any bytes as Nsight Compute's CSV: kernels with figures in their bounds, or refused with a
// reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "import/kernel_table.h"
#include "import/ncu.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto record = sharewell::imports::ReadNcuText(text, "fuzz.csv");
  if (!record) {
    if (record.error().message.empty()) __builtin_trap();
    return 0;
  }
  if (record->kernels.empty()) __builtin_trap();
  auto kernels = record->kernels;
  kernels.push_back(sharewell::imports::WholeOf(record->kernels));
  for (const auto& kernel : kernels) {
    if (kernel.launches < 1 || !(kernel.time.value >= 0) || !std::isfinite(kernel.time.value)) {
      __builtin_trap();
    }
    for (const auto& share : {kernel.sm, kernel.memory, kernel.l2, kernel.dram, kernel.occupancy,
                              kernel.dram_read_share, kernel.dram_write_share}) {
      if (share && !(*share >= 0 && *share <= 1.0000001)) __builtin_trap();
    }
    for (const auto& rate : {kernel.dram_read, kernel.dram_write}) {
      if (rate && !(rate->value >= 0 && std::isfinite(rate->value))) __builtin_trap();
    }
  }
  return 0;
}
