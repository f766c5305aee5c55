// Any bytes as a table of operators: read, with times that are finite, or refused with a reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "research/train/operator_file.h"

namespace {
using namespace sharewell;  // NOLINT(google-build-using-namespace): a program of its own
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto catalogue = catalogue::GpuCatalogue::Builtin();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto table = research::ReadOperatorText(text, "fuzz.csv", catalogue);
  if (!table) {
    if (table.error().message.empty()) __builtin_trap();
    return 0;
  }
  const auto roofline = predict::RooflineOf(*catalogue.Find("H200"));
  for (const auto& cell : table->cells()) {
    for (const std::size_t pass : {predict::kForward, predict::kBackward}) {
      const auto told = table->Seconds(cell.shape, pass, roofline);
      if (told && !(std::isfinite(told->seconds) && told->seconds >= 0)) __builtin_trap();
      if (told && !(told->support >= 0 && told->support <= 1)) __builtin_trap();
    }
  }
  if (!predict::OperatorTable::Read(table->Write())) __builtin_trap();
  return 0;
}
