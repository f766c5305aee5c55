// Any bytes as the spec of a sweep or of a co-location: read, or refused with a reason; and every
// cell that comes of it can be filled in.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "measure/grid/colocate_spec.h"
#include "measure/grid/grid_spec.h"

namespace {

// Cells of a large grid are looked at in steps: all of them would be the same code again.
constexpr std::size_t kMostLooked = 50;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace measure = sharewell::measure;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto sweep = measure::ReadSweepSpecText(text, "fuzz.toml");
  if (!sweep) {
    if (sweep.error().message.empty()) __builtin_trap();
  } else {
    const auto grid = measure::GridOf(*sweep);
    if (grid.empty() || grid.size() > measure::kMostCells) __builtin_trap();
    for (std::size_t i = 0; i < grid.size(); i += 1 + grid.size() / kMostLooked) {
      const measure::GridCell cell = measure::CellAt(*sweep, grid[i]);
      if (cell.command.empty() || cell.key.size() != 16 || cell.label.empty()) __builtin_trap();
    }
  }
  const auto colocate = measure::ReadColocateSpecText(text, "fuzz.toml");
  if (!colocate) {
    if (colocate.error().message.empty()) __builtin_trap();
    return 0;
  }
  for (const auto& set : colocate->sets) {
    if (set.size() < 2 || set.back() >= colocate->workloads.size()) __builtin_trap();
  }
  return 0;
}
