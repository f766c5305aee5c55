// Any bytes as an exporter's answer: samples that are finite under names of ours, or refused with a
// reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collect/metrics/metrics.h"
#include "import/dcgm.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto exposition = sharewell::imports::ReadPrometheusText(text, "fuzz");
  if (!exposition) {
    if (exposition.error().message.empty()) __builtin_trap();
    return 0;
  }
  const auto samples =
      sharewell::imports::FromSamples(*exposition, "node", 1, sharewell::collect::AllMetrics());
  std::int64_t taken = 0;
  for (const auto& [node, batch] : samples.batches) {
    if (node.empty()) __builtin_trap();
    taken += static_cast<std::int64_t>(batch.readings.size());
    for (const auto& reading : batch.readings) {
      if (reading.metric == nullptr || !std::isfinite(reading.value)) __builtin_trap();
    }
  }
  if (taken != samples.taken) __builtin_trap();
  return 0;
}
