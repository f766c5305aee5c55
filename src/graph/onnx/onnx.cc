#include "graph/onnx/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <unordered_set>
#include <utility>

#include "core/result.h"
#include "graph/onnx/inputs.h"
#include "graph/onnx/node.h"
#include "graph/onnx/reader.h"
#include "graph/onnx/wire.h"

namespace sharewell::graph {
namespace {

namespace wire = onnx::wire;

double MacsOf(const Graph& graph) {
  double macs = 0;
  for (const Op& op : graph.ops) macs += op.macs;
  return macs;
}

// The file's own batch everywhere replaced by another one: the dimension that equals it, or the
// leading one where none does (tokens of all samples in one row).
void Scale(Graph& graph, const std::vector<onnx::Fact>& facts, std::int64_t from, std::int64_t to) {
  const double ratio = static_cast<double>(to) / static_cast<double>(from);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    auto& dims = graph.tensors[i].dims;
    if (!dims || dims->empty() || (facts[i].origin & onnx::kFromData) == 0) continue;
    auto at = std::find(dims->begin(), dims->end(), from);
    if (at == dims->end()) at = dims->begin();
    *at = std::max<std::int64_t>(std::llround(static_cast<double>(*at) * ratio), 1);
  }
  for (Op& op : graph.ops) op.macs *= ratio;
}

std::int64_t OpsetOf(const wire::Model& model) {
  for (const wire::Opset& opset : model.opsets) {
    if (opset.domain.empty() || opset.domain == "ai.onnx") return opset.version;
  }
  return 0;
}

core::Result<Graph> Read(std::string_view bytes, const Binding& binding) {
  if (binding.batch < 1 || binding.batch > kLargestDim) {
    return core::UsageError("the batch is {}; it must be at least 1", binding.batch);
  }
  const wire::Model model = wire::ReadModel(bytes);
  if (!model.graph) {
    return core::UsageError(
        "there is no graph in it: is it an ONNX file? Export the model with torch.onnx.export");
  }
  const wire::Graph file = wire::ReadGraph(*model.graph);
  if (file.nodes.size() > kMostNodes) {
    return core::UsageError("the model has more than {} nodes; no model needs that many",
                            kMostNodes);
  }
  if (file.nodes.empty()) {
    return core::UsageError("its graph has no nodes: is it an ONNX file, and complete?");
  }
  std::unordered_set<std::string_view> initialized;
  for (const wire::TensorData& tensor : file.initializers) initialized.insert(tensor.name);
  std::vector<const wire::ValueInfo*> inputs;
  for (const wire::ValueInfo& input : file.inputs) {
    if (initialized.count(input.name) == 0) inputs.push_back(&input);
  }
  auto bound = onnx::BindInputs(inputs, binding);
  RETURN_IF_ERROR(bound);

  onnx::Reader reader(model, *bound, true);
  auto graph = reader.Read(file);
  if (!graph) return graph;
  graph->batch = bound->open_batch ? binding.batch : bound->fixed_batch.value_or(1);
  if (!bound->open_batch && bound->fixed_batch && *bound->fixed_batch != binding.batch) {
    const std::int64_t from = *bound->fixed_batch;
    onnx::BoundInputs wanted = *bound;
    for (Dims& dims : wanted.dims) {
      if (!dims.empty()) dims[0] = binding.batch;
    }
    onnx::Reader again(model, wanted, false);
    auto rebound = again.Read(file);
    // Work is in proportion to the batch; where it is not, a reshape has mixed samples up.
    const double expected =
        MacsOf(*graph) * static_cast<double>(binding.batch) / static_cast<double>(from);
    if (rebound && again.clashes() <= reader.clashes() &&
        std::abs(MacsOf(*rebound) - expected) <= 1e-6 * expected) {
      graph = std::move(rebound);
    } else {
      Scale(*graph, reader.facts(), from, binding.batch);
    }
    graph->batch = binding.batch;
  }
  graph->format = fmt::format("ONNX opset {}", OpsetOf(model));
  graph->producer = std::string(model.producer.substr(0, 64));
  // PyTorch traces since it writes opset 18; the exporter before it stopped at 17 by default.
  graph->traced = model.producer.substr(0, 7) == "pytorch" && OpsetOf(model) >= 18;
  if (!model.producer_version.empty()) {
    graph->producer += " " + std::string(model.producer_version.substr(0, 64));
  }
  return graph;
}

}  // namespace

core::Result<Graph> ReadOnnx(std::string_view bytes, const std::string& name,
                             const Binding& binding) {
  try {
    auto graph = Read(bytes, binding);
    if (!graph) return tl::unexpected(std::move(graph).error().Within(name));
    return graph;
  } catch (const protozero::exception& broken) {
    return core::UsageError(
        "{}: this is no whole ONNX file ({}): was it cut short while copying, or is it another "
        "format? Export the model again, or copy it again",
        name, broken.what());
  }
}

bool LooksLikeOnnx(std::string_view bytes) {
  // ModelProto begins with its IR version, a small number, and then fields that we know by number.
  constexpr int kEnough = 3;
  try {
    protozero::pbf_reader reader{bytes.data(), bytes.size()};
    if (!reader.next(1, protozero::pbf_wire_type::varint)) return false;
    const std::int64_t version = reader.get_int64();
    if (version < 1 || version > 64) return false;
    int fields = 1;
    while (fields < kEnough && reader.next()) {
      const auto tag = static_cast<std::uint32_t>(reader.tag());
      if (tag == 7 && reader.wire_type() == protozero::pbf_wire_type::length_delimited) return true;
      if (tag > 8 && tag != 14 && tag != 20 && tag != 25) return false;
      reader.skip();
      ++fields;
    }
    return fields == kEnough;
  } catch (const protozero::exception&) {
    return false;
  }
}

}  // namespace sharewell::graph
