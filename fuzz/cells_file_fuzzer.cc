// Any bytes as cells.csv of a sweep: read, or refused with a reason; and what is read can be drawn.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "measure/grid/cells_file.h"
#include "report/html/sweep_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto result = sharewell::measure::ReadSweepCells(text, "fuzz.csv");
  if (result ? result->cells.empty() : result.error().message.empty()) __builtin_trap();
  if (result && sharewell::report::SweepPage(*result, "").empty()) __builtin_trap();
  return 0;
}
