// Any bytes as a user's GPU catalogue: read, or refused with a reason and nothing changed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "catalogue/gpu_catalogue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const auto builtin = sharewell::catalogue::GpuCatalogue::Builtin();
  auto catalogue = builtin;
  const auto read = catalogue.ExtendFrom(text, "fuzz.csv");
  if (!read && (read.error().message.empty() || catalogue.models() != builtin.models())) {
    __builtin_trap();
  }
  for (const auto& model : catalogue.models()) {
    if (!catalogue.Find(model.name)) __builtin_trap();
  }
  return 0;
}
