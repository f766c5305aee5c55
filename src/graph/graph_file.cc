#include "graph/graph_file.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/numbers/random.h"
#include "core/result.h"
#include "graph/json_object.h"

namespace sharewell::graph {
namespace {

using Json = nlohmann::ordered_json;
using nlohmann::json;

constexpr std::size_t kLargestFile = std::size_t{64} << 20;
constexpr int kGraphVersion = 1;
constexpr double kMostWork = 1e30;
constexpr std::size_t kMostLetters = 200;
enum Flags : unsigned { kRestored = 1, kFoldedNorm = 2 };

// Reads one file; the first error sticks.
class GraphReader {
 public:
  explicit GraphReader(std::string name) : name_(std::move(name)) {}

  core::Result<Graph> Read(const json& file, const Binding& binding) {
    JsonObject object(file, name_);
    const std::int64_t version = object.Whole("version", {1, 1'000'000});
    Graph graph;
    graph.format = object.Text("made_of", "");
    graph.producer = object.Text("producer", "");
    graph.traced = object.Bool("traced", false);
    graph.batch = object.Whole("batch", {1, std::int64_t{1} << 40});
    graph.hidden_params = object.Number("hidden_params", 0, kMostWork, 0);
    if (object.error()) return tl::unexpected(*object.error());
    if (version != kGraphVersion) {
      return core::UsageError("{}: it is of version {}, this program reads version {}", name_,
                              version, kGraphVersion);
    }
    if (graph.batch != binding.batch) {
      return core::UsageError(
          "{}: it holds the graph at batch {}, not at {}; ask for that batch, or give the model "
          "file that it was made of",
          name_, graph.batch, binding.batch);
    }
    Tensors(object.Find("tensors"), graph);
    made_.assign(graph.tensors.size(), false);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      made_[i] = graph.tensors[i].role != Role::kActivation;
    }
    graph.inputs = Ids(List(object.Find("inputs"), "inputs"), graph);
    Operators(object.Find("ops"), graph);
    graph.outputs = Ids(List(object.Find("outputs"), "outputs"), graph);
    if (error_) return tl::unexpected(*std::move(error_));
    return graph;
  }

 private:
  template <class... Args>
  void Fail(fmt::format_string<Args...> form, Args&&... args) {
    if (error_) return;
    error_ = core::Error{core::ErrorKind::kUsage,
                         fmt::format("{}: {}; it is damaged: make it again from the model file",
                                     name_, fmt::format(form, std::forward<Args>(args)...))};
  }

  const json& List(const json* value, const char* what) {
    static const json kNone = json::array();
    if (value != nullptr && value->is_array() && value->size() <= 8 * kMostNodes) return *value;
    Fail("\"{}\" is no list", what);
    return kNone;
  }

  std::int64_t Whole(const json& value, std::int64_t least, std::int64_t most) {
    if (value.is_number_integer() && value >= least && value <= most) {
      return value.get<std::int64_t>();
    }
    Fail("a number is not from {} to {}", least, most);
    return least;
  }

  void Tensors(const json* value, Graph& graph) {
    for (const json& item : List(value, "tensors")) {
      if (!item.is_array() || item.size() != 3 || !(item[2].is_array() || item[2].is_null())) {
        Fail("tensor {} is not [type, role, dimensions]", graph.tensors.size());
      }
      if (error_) return;
      Tensor tensor;
      tensor.dtype = static_cast<DType>(Whole(item[0], 0, static_cast<int>(DType::kByte)));
      tensor.role = static_cast<Role>(Whole(item[1], 0, static_cast<int>(Role::kActivation)));
      if (item[2].size() > kMostDims) Fail("a tensor has more than {} dimensions", kMostDims);
      if (error_) return;
      if (item[2].is_array()) {
        tensor.dims.emplace();
        for (const json& dim : item[2]) tensor.dims->push_back(Whole(dim, 0, kLargestDim));
      }
      graph.tensors.push_back(std::move(tensor));
    }
  }

  std::vector<TensorId> Ids(const json& list, const Graph& graph) {
    std::vector<TensorId> ids;
    for (const json& item : list) {
      ids.push_back(static_cast<TensorId>(
          Whole(item, kAbsent, static_cast<std::int64_t>(graph.tensors.size()) - 1)));
      if (error_) return {};
    }
    return ids;
  }

  void Operators(const json* value, Graph& graph) {
    const json& list = List(value, "ops");
    if (list.size() > kMostNodes) Fail("it has more than {} operators", kMostNodes);
    for (const json& item : list) {
      const bool right = item.is_array() && (item.size() == 9 || item.size() == 10) &&
                         item[1].is_string() && item[2].is_array() && item[3].is_array() &&
                         item[4].is_number();
      if (!right) Fail("operator {} does not have its nine parts", graph.ops.size());
      if (error_) return;
      Op op;
      op.kind = static_cast<Kind>(Whole(item[0], 0, static_cast<int>(Kind::kUnknown)));
      op.type = item[1].get<std::string>().substr(0, kMostLetters);
      op.inputs = Ids(item[2], graph);
      op.outputs = Ids(item[3], graph);
      op.macs = item[4].get<double>();
      if (!(op.macs >= 0 && op.macs <= kMostWork)) Fail("an operator's work is no number");
      op.groups = Whole(item[5], 1, kLargestDim);
      op.kernel = Whole(item[6], 1, kLargestDim);
      op.steps = Whole(item[7], 1, kLargestDim);
      const auto flags = static_cast<unsigned>(Whole(item[8], 0, kRestored | kFoldedNorm));
      op.restored = (flags & kRestored) != 0;
      op.folded_norm = (flags & kFoldedNorm) != 0;
      if (item.size() == 10 && item[9].is_number()) op.dilation = Whole(item[9], 1, kLargestDim);
      const bool said = item.size() == 10 && item[9].is_string();
      if (op.kind == Kind::kUnknown) {
        op.why_unknown = said ? item[9].get<std::string>().substr(0, kMostLetters) : "";
        if (op.why_unknown.empty()) op.why_unknown = "not known";
      }
      if (error_) return;
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
  std::optional<core::Error> error_;
};

}  // namespace

std::string WriteGraph(const Graph& graph) {
  Json out;
  out["format"] = "sharewell-graph";
  out["version"] = kGraphVersion;
  out["made_of"] = graph.format;
  if (!graph.producer.empty()) out["producer"] = graph.producer;
  out["traced"] = graph.traced;
  out["batch"] = graph.batch;
  out["hidden_params"] = graph.hidden_params;
  Json& tensors = out["tensors"] = Json::array();
  for (const Tensor& tensor : graph.tensors) {
    tensors.push_back({static_cast<int>(tensor.dtype), static_cast<int>(tensor.role),
                       tensor.dims ? Json(*tensor.dims) : Json(nullptr)});
  }
  out["inputs"] = graph.inputs;
  out["outputs"] = graph.outputs;
  Json& ops = out["ops"] = Json::array();
  for (const Op& op : graph.ops) {
    Json item = {static_cast<int>(op.kind),
                 op.type,
                 Json(op.inputs),
                 Json(op.outputs),
                 op.macs,
                 op.groups,
                 op.kernel,
                 op.steps,
                 (op.restored ? kRestored : 0U) | (op.folded_norm ? kFoldedNorm : 0U)};
    if (op.kind == Kind::kUnknown) {
      item.push_back(op.why_unknown);
    } else if (op.dilation > 1) {
      item.push_back(op.dilation);
    }
    ops.push_back(std::move(item));
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

core::Result<Graph> ReadGraphFile(std::string_view bytes, const std::string& name,
                                  const Binding& binding) {
  const auto file = ParseJson(bytes, name, kLargestFile);
  RETURN_IF_ERROR(file);
  if (!file->is_object() || file->value("format", json()) != "sharewell-graph") {
    return core::UsageError("{}: is no graph of ours (\"format\": \"sharewell-graph\")", name);
  }
  return GraphReader(name).Read(*file, binding);
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
