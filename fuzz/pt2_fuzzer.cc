// Any bytes as a torch.export archive, or as the JSON inside one (a checksum would keep the fuzzer
// out of it): read as graph.h promises, or refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/pt2/program.h"
#include "graph/pt2/pt2.h"
#include "graph/restore.h"
#include "graph_promises.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace graph = sharewell::graph;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const graph::Binding binding{.batch = 8, .named = {}};
  auto read = bytes.starts_with('{') ? graph::pt2::ReadProgram(bytes, "fuzz", binding)
                                     : graph::ReadPt2(bytes, "fuzz", binding);
  CheckPromises(read);
  if (!read) return 0;
  graph::Restore(*read);
  CheckPromises(read);
  return 0;
}
