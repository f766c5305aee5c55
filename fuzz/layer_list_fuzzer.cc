// Any bytes as a layer list, and through the front door as whatever they look like: read as graph.h
// promises, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/layers/layers.h"
#include "graph/read.h"
#include "graph_promises.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace graph = sharewell::graph;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckPromises(graph::ReadLayers(bytes, "fuzz", {.batch = 8, .named = {}}));
  CheckPromises(graph::Read(bytes, "fuzz", {.batch = 2, .named = {}}));
  return 0;
}
