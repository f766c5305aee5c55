// Any bytes as a told step, as a job's watcher sends it: read and the same when it is written and
// read again, lowered to a graph as graph.h promises, costed, or refused with a reason.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/cost.h"
#include "graph/memory.h"
#include "graph/step/lower.h"
#include "graph/step/told_step.h"
#include "graph_promises.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace graph = sharewell::graph;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto step = graph::ReadToldStep(bytes, "fuzz");
  if (!step) {
    if (step.error().message.empty()) __builtin_trap();
    return 0;
  }
  const auto again = graph::ReadToldStep(graph::WriteToldStep(*step), "again");
  // Escapes may make it longer than may be read.
  if (again && graph::FingerprintOf(*again) != graph::FingerprintOf(*step)) __builtin_trap();
  const auto lowered =
      graph::LowerStep(*step, "fuzz", {.batch = 8, .named = {}, .any_batch = true});
  CheckPromises(lowered);
  if (!lowered) return 0;
  const graph::Run run = graph::RunOf(*step);
  const graph::Flow flow = FlowOf(*lowered, run);
  const graph::Cost cost = CostOf(*lowered, flow, run);
  const graph::Memory memory = MemoryOf(*lowered, flow, run);
  const double numbers[] = {cost.forward.flops,  cost.forward.bytes,  cost.forward.kernels,
                            cost.backward.flops, cost.backward.bytes, cost.backward.kernels,
                            cost.update.bytes,   cost.update.kernels, cost.macs,
                            memory.Peak(),       memory.activations};
  for (const double number : numbers) {
    if (!(number >= 0) || std::isinf(number)) __builtin_trap();
  }
  return 0;
}
