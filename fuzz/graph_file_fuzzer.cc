// Any bytes as a graph of our own, as clients send it and the store keeps it: read as graph.h
// promises and the same when it is written and read again, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/graph_file.h"
#include "graph_promises.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace graph = sharewell::graph;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = graph::ReadGraphFile(bytes, "fuzz", {.batch = 8, .named = {}});
  CheckPromises(read);
  if (!read) return 0;
  const auto again =
      graph::ReadGraphFile(graph::WriteGraph(*read), "again", {.batch = 8, .named = {}});
  if (!again || graph::WriteGraph(*again) != graph::WriteGraph(*read)) __builtin_trap();
  return 0;
}
