// Any bytes as measured cells: read with figures in their bounds, or refused with a reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "advice/recommend/measured_cells.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto kCatalogue = sharewell::catalogue::GpuCatalogue::Builtin();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cells = sharewell::advice::recommend::ReadMeasuredCells(text, "fuzz.csv", kCatalogue);
  if (!cells) {
    if (cells.error().message.empty()) __builtin_trap();
    return 0;
  }
  for (const auto& row : *cells) {
    const auto& cell = row.cell;
    if (row.workload.empty() || cell.setting.gpu.empty() || cell.setting.batch < 1)
      __builtin_trap();
    if (!(cell.samples.median > 0) || !std::isfinite(cell.samples.median)) __builtin_trap();
    if (cell.setting.cores && !(*cell.setting.cores > 0)) __builtin_trap();
  }
  return 0;
}
