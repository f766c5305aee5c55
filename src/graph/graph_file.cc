#include "graph/graph_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/numbers/random.h"
#include "core/result.h"
#include "graph/model_keys.h"
#include "graph/step/lower.h"
#include "json/writer.h"

namespace sharewell::graph {
namespace {

using json::Value;

constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr int kGraphVersion = 1;
constexpr double kMostWork = 1e30;
constexpr std::size_t kMostLetters = 200;
enum Flags : unsigned { kRestored = 1, kFoldedNorm = 2 };

// Of an operator: kind, type, inputs, outputs, work, groups, kernel, steps, flags, and of some why
// it is unknown, or its dilation.
constexpr std::size_t kParts = 10;
using Parts = std::array<Value, kParts>;

// Tensors and operators are lists of numbers and go by their place: half of the file's bytes would
// be keys. The first error sticks.
class GraphReader {
 public:
  explicit GraphReader(std::string name) : name_(std::move(name)) {}

  core::Result<Graph> Read(Value file, const Binding& binding) {
    json::Reader object(file, name_ + ": ", json::Trust::kSent, error_);
    const std::int64_t version = object.NeedWhole("version", {1, 1'000'000});
    Graph graph;
    graph.format = object.TextOr("made_of", "");
    graph.producer = object.TextOr("producer", "");
    graph.traced = object.FlagOr("traced", false);
    graph.batch = object.NeedWhole("batch", {1, std::int64_t{1} << 40});
    graph.hidden_params = object.NumberOr("hidden_params", 0, {0, kMostWork});
    if (!ok()) return core::UsageError("{}", error_);
    if (version != kGraphVersion) {
      return core::UsageError("{}: it is of version {}, this program reads version {}", name_,
                              version, kGraphVersion);
    }
    if (graph.batch != binding.batch && !binding.any_batch) {
      return core::UsageError(
          "{}: it holds the graph at batch {}, not at {}; ask for that batch, or give the model "
          "file that it was made of",
          name_, graph.batch, binding.batch);
    }
    Tensors(object.Member("tensors"), graph);
    made_.assign(graph.tensors.size(), false);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      made_[i] = graph.tensors[i].role != Role::kActivation;
    }
    graph.inputs = Ids(List(object.Member("inputs"), "inputs"), graph);
    Operators(object.Member("ops"), graph);
    graph.outputs = Ids(List(object.Member("outputs"), "outputs"), graph);
    if (!ok()) return core::UsageError("{}", error_);
    return graph;
  }

 private:
  bool ok() const { return error_.empty(); }
  template <class... Args>
  void Fail(fmt::format_string<Args...> form, Args&&... args) {
    if (!ok()) return;
    error_ = fmt::format("{}: {}; it is damaged: make it again from the model file", name_,
                         fmt::format(form, std::forward<Args>(args)...));
  }

  // Empty, and an error, where it is none.
  Value List(Value value, const char* what) {
    if (value.is_list() && value.size() <= 8 * kMostNodes) return value;
    Fail("\"{}\" is no list", what);
    return {};
  }

  // The first entries of a list; null where it has fewer.
  static Parts PartsOf(Value list) {
    Parts parts;
    std::size_t count = 0;
    for (const Value part : list.items()) {
      if (count == kParts) break;
      parts[count++] = part;
    }
    return parts;
  }

  std::int64_t Whole(Value value, std::int64_t least, std::int64_t most) {
    const auto whole = value.Whole();
    if (whole && *whole >= least && *whole <= most) return *whole;
    Fail("{} is no whole number from {} to {}", value.Quoted(), least, most);
    return least;
  }

  void Tensors(Value value, Graph& graph) {
    for (const Value tensor_value : List(value, "tensors").items()) {
      const Parts item = PartsOf(tensor_value);
      if (tensor_value.size() != 3 || !(item[2].is_list() || item[2].is_null())) {
        Fail("tensor {} is not [type, role, dimensions]", graph.tensors.size());
      }
      if (!ok()) return;
      Tensor tensor;
      tensor.dtype = static_cast<DType>(Whole(item[0], 0, static_cast<int>(DType::kByte)));
      tensor.role = static_cast<Role>(Whole(item[1], 0, static_cast<int>(Role::kActivation)));
      if (item[2].size() > kMostDims) Fail("a tensor has more than {} dimensions", kMostDims);
      if (!ok()) return;
      if (item[2].is_list()) {
        tensor.dims.emplace();
        for (const Value dim : item[2].items()) tensor.dims->push_back(Whole(dim, 0, kLargestDim));
      }
      graph.tensors.push_back(std::move(tensor));
    }
  }

  std::vector<TensorId> Ids(Value list, const Graph& graph) {
    std::vector<TensorId> ids;
    for (const Value item : list.items()) {
      ids.push_back(static_cast<TensorId>(
          Whole(item, kAbsent, static_cast<std::int64_t>(graph.tensors.size()) - 1)));
      if (!ok()) return {};
    }
    return ids;
  }

  void Operators(Value value, Graph& graph) {
    const Value list = List(value, "ops");
    if (list.size() > kMostNodes) Fail("it has more than {} operators", kMostNodes);
    for (const Value op_value : list.items()) {
      const Parts item = PartsOf(op_value);
      const bool right = (op_value.size() == 9 || op_value.size() == 10) && item[1].is_text() &&
                         item[2].is_list() && item[3].is_list() && item[4].is_number();
      if (!right) Fail("operator {} does not have its nine parts", graph.ops.size());
      if (!ok()) return;
      Op op;
      op.kind = static_cast<Kind>(Whole(item[0], 0, static_cast<int>(Kind::kUnknown)));
      op.type = item[1].Text()->substr(0, kMostLetters);
      op.inputs = Ids(item[2], graph);
      op.outputs = Ids(item[3], graph);
      op.macs = *item[4].Number();
      if (!(op.macs >= 0 && op.macs <= kMostWork)) Fail("an operator's work is no number");
      op.groups = Whole(item[5], 1, kLargestDim);
      op.kernel = Whole(item[6], 1, kLargestDim);
      op.steps = Whole(item[7], 1, kLargestDim);
      const auto flags = static_cast<unsigned>(Whole(item[8], 0, kRestored | kFoldedNorm));
      op.restored = (flags & kRestored) != 0;
      op.folded_norm = (flags & kFoldedNorm) != 0;
      if (item[9].is_number()) op.dilation = Whole(item[9], 1, kLargestDim);
      if (op.kind == Kind::kUnknown) {
        op.why_unknown = item[9].Text().value_or("").substr(0, kMostLetters);
        if (op.why_unknown.empty()) op.why_unknown = "not known";
      }
      if (!ok()) return;
      Order(op, graph);
      graph.ops.push_back(std::move(op));
    }
  }

  // Values are made before they are read, and once.
  void Order(const Op& op, const Graph& graph) {
    for (const TensorId id : op.inputs) {
      if (id != kAbsent && !made_[static_cast<std::size_t>(id)]) {
        Fail("operator {} reads a value before it is made", graph.ops.size());
      }
    }
    for (const TensorId id : op.outputs) {
      if (id == kAbsent) continue;
      if (made_[static_cast<std::size_t>(id)]) Fail("a value is made twice");
      made_[static_cast<std::size_t>(id)] = true;
    }
  }

  const std::string name_;
  std::vector<bool> made_;  // by TensorId
  std::string error_;
};

void WriteOp(const Op& op, json::Writer& out) {
  out.List([&] {
    out.Value(static_cast<int>(op.kind));
    out.Value(op.type);
    out.Value(op.inputs);
    out.Value(op.outputs);
    out.Value(op.macs);
    out.Value(op.groups);
    out.Value(op.kernel);
    out.Value(op.steps);
    out.Value((op.restored ? kRestored : 0U) | (op.folded_norm ? kFoldedNorm : 0U));
    if (op.kind == Kind::kUnknown) {
      out.Value(op.why_unknown);
    } else if (op.dilation > 1) {
      out.Value(op.dilation);
    }
  });
}

}  // namespace

std::string WriteGraph(const Graph& graph) {
  if (graph.told) return WriteToldStep(graph.told->step);
  return json::Write(json::Style::kFile, [&](json::Writer& out) {
    out.Object([&] {
      out.Field("format", "sharewell-graph");
      out.Field("version", kGraphVersion);
      out.Field("made_of", graph.format);
      if (!graph.producer.empty()) out.Field("producer", graph.producer);
      out.Field("traced", graph.traced);
      out.Field("batch", graph.batch);
      out.Field("hidden_params", graph.hidden_params);
      out.List("tensors", graph.tensors, [&](const Tensor& tensor) {
        out.List([&] {
          out.Value(static_cast<int>(tensor.dtype));
          out.Value(static_cast<int>(tensor.role));
          out.Value(tensor.dims);
        });
      });
      out.Field("inputs", graph.inputs);
      out.Field("outputs", graph.outputs);
      out.List("ops", graph.ops, [&](const Op& op) { WriteOp(op, out); });
    });
  });
}

core::Result<Graph> ReadGraphFile(std::string_view bytes, const std::string& name,
                                  const Binding& binding) {
  if (IsToldStep(bytes)) return ReadStepGraph(bytes, name, binding);
  const auto file = ParseModelJson(bytes, name, kLargestFile);
  RETURN_IF_ERROR(file);
  if (file->root()["format"].Text() != "sharewell-graph") {
    return core::UsageError("{}: is no graph of ours (\"format\": \"sharewell-graph\")", name);
  }
  return GraphReader(name).Read(file->root(), binding);
}

std::string DigestOfGraph(std::string_view text) {
  std::uint64_t a = 0xcbf29ce484222325ULL, b = 0x84222325cbf29ce4ULL;
  for (const char letter : text) {
    a = (a ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    b = core::Mix(b ^ static_cast<unsigned char>(letter));
  }
  return fmt::format("{:016x}{:016x}", core::Mix(a), b);
}

}  // namespace sharewell::graph
