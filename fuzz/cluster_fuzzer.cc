// Any bytes as a cluster file (TOML, or openb's node list): read, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "catalogue/cluster_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const auto gpus_known = sharewell::catalogue::GpuCatalogue::Builtin();
  const auto cluster = sharewell::catalogue::ReadClusterText(text, "fuzz.toml", gpus_known);
  if (!cluster) {
    if (cluster.error().message.empty()) __builtin_trap();
    return 0;
  }
  std::size_t gpus = 0;
  for (const auto& node : cluster->nodes()) {
    if (node.gpus < 0) __builtin_trap();
    if (node.gpus > 0) cluster->model(node.model);
    gpus += static_cast<std::size_t>(node.gpus);
  }
  if (gpus != cluster->gpu_count()) __builtin_trap();
  return 0;
}
