// Any bytes as a Hugging Face configuration: built as graph.h promises, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/huggingface/config.h"
#include "graph_promises.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace graph = sharewell::graph;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckPromises(graph::ReadConfig(bytes, "fuzz", {.batch = 8, .named = {}}));
  CheckPromises(graph::ReadConfig(bytes, "fuzz", {.batch = 1, .named = {{"seq", 16}}}));
  return 0;
}
