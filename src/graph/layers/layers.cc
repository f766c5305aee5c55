#include "graph/layers/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "graph/layers/layer.h"

namespace sharewell::graph {
namespace layers {
namespace {

using core::Quoted;
using nlohmann::json;

constexpr std::size_t kLargestFile = std::size_t{64} << 20;
// With all repeats written out; a thousand times what networks have, and still cheap to refuse.
constexpr std::size_t kMostLayers = 20'000;
constexpr std::size_t kMostOps = 100'000;
constexpr std::size_t kMostNamed = 1000;
constexpr int kDeepest = 8;
constexpr std::size_t kLongestName = 60;
constexpr std::string_view kStart = "start";  // inside a repeat: what came into this round

std::vector<std::string> Words(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(' '));
    words.emplace_back(word);
    list.remove_prefix(std::min(list.size(), word.size() + 1));
  }
  return words;
}

class Reader {
 public:
  Reader(std::string file, const Binding& binding)
      : file_(std::move(file)), binding_(binding), builder_("layer list", binding.batch) {}

  core::Result<Graph> Read(const json& root) {
    JsonObject keys(root, file_);
    AllowOnly(keys, root, {"schema", "name", "inputs", "layers", "outputs"}, "the file");
    keys.Whole("schema", {1, 1}, 1);
    const json* inputs = keys.Find("inputs");
    if (inputs == nullptr || !inputs->is_array() || inputs->empty()) {
      keys.Fail("inputs",
                "must be a list of at least one, like [{\"name\": \"x\", \"shape\": [\"batch\", 3, "
                "224, 224]}]");
    }
    if (!keys.ok()) return tl::unexpected(*keys.error());
    for (std::size_t i = 0; i < inputs->size() && !error_; ++i) ReadInput((*inputs)[i], i);
    CheckBinding();
    const json* list = keys.Find("layers");
    if (list == nullptr || !list->is_array() || list->empty()) {
      keys.Fail("layers", "must be a list of at least one layer");
      return tl::unexpected(*keys.error());
    }
    if (!error_) ReadList(*list, "layers", "", 0);
    std::vector<TensorId> outputs = {x_};
    if (const json* named = keys.Find("outputs"); named != nullptr && !error_) {
      outputs = Named(keys, "outputs", *named);
    }
    if (!keys.ok()) return tl::unexpected(*keys.error());
    if (error_) return tl::unexpected(*error_);
    return std::move(builder_).Finish(std::move(outputs));
  }

 private:
  void Keep(const JsonObject& keys) {
    if (!error_ && keys.error()) error_ = keys.error();
  }

  static void AllowOnly(JsonObject& keys, const json& object, const std::vector<std::string>& known,
                        std::string_view of) {
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      return keys.Fail(key, fmt::format("is no key of {}; its keys are {}{}", of,
                                        fmt::join(known, ", "), core::DidYouMean(key, known)));
    }
  }

  void ReadInput(const json& input, std::size_t index) {
    const std::string where = fmt::format("{}: inputs[{}]", file_, index);
    if (!input.is_object()) {
      error_ = core::Error{core::ErrorKind::kUsage,
                           where + ": must be an object with a name and a shape"};
      return;
    }
    JsonObject keys(input, where);
    AllowOnly(keys, input, {"name", "shape", "dtype"}, "an input");
    const std::string name = NameOf(keys, "input");
    const json* shape = keys.Find("shape");
    if (shape == nullptr || !shape->is_array() || shape->empty() || shape->size() > kMostDims) {
      keys.Fail("shape", "must be a list of sizes, like [\"batch\", 3, 224, 224]");
      return Keep(keys);
    }
    Dims dims;
    for (const json& size : *shape) dims.push_back(SizeOf(keys, size));
    const std::string dtype = keys.Text("dtype", "float32");
    static const std::vector<std::pair<std::string, DType>> kTypes = {
        {"float32", DType::kFloat},  {"float16", DType::kHalf}, {"bfloat16", DType::kHalf},
        {"float64", DType::kDouble}, {"int64", DType::kInt64},  {"int32", DType::kInt32},
        {"uint8", DType::kByte},     {"bool", DType::kByte}};
    const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const auto& known) { return known.first == dtype; });
    if (type == kTypes.end()) {
      keys.Fail(
          "dtype",
          fmt::format(
              "is {}; we know float32, float16, bfloat16, float64, int64, int32, uint8 and bool",
              Quoted(dtype)));
    }
    if (!keys.ok()) return Keep(keys);
    const TensorId id = builder_.Input(name, std::move(dims), type->second);
    if (x_ == kAbsent) x_ = id;
    names_[name] = id;
  }

  // A number, "batch", or the name of a dimension that the binding gives.
  std::int64_t SizeOf(JsonObject& keys, const json& size) {
    if (size.is_number_integer()) {
      const bool sound = size.is_number_unsigned() && size.get<std::uint64_t>() >= 1 &&
                         size.get<std::uint64_t>() <= static_cast<std::uint64_t>(kLargestDim);
      if (sound) return size.get<std::int64_t>();
    } else if (size.is_string()) {
      const auto name = size.get<std::string>();
      if (name == "batch") return binding_.batch;
      open_.push_back(name);
      for (const auto& [bound, value] : binding_.named) {
        if (bound != name) continue;
        if (value >= 1 && value <= kLargestDim) return value;
        keys.Fail("shape", fmt::format("cannot have {} as {}; give a number from 1 to {}", value,
                                       Quoted(name), kLargestDim));
        return 1;
      }
      keys.Fail("shape", fmt::format("leaves {} open; bind it, as in --bind {}=128", Quoted(name),
                                     Quoted(name).substr(1, Quoted(name).size() - 2)));
      return 1;
    }
    keys.Fail("shape", fmt::format("has a size that is neither a number from 1 to {} nor a name",
                                   kLargestDim));
    return 1;
  }

  void CheckBinding() {
    for (const auto& [bound, value] : binding_.named) {
      if (error_ || std::find(open_.begin(), open_.end(), bound) != open_.end()) continue;
      error_ = core::Error{
          core::ErrorKind::kUsage,
          fmt::format("{}: has no open dimension {}; {}", file_, Quoted(bound),
                      open_.empty() ? std::string("its inputs leave none open but the batch")
                                    : fmt::format("it has {}", Quoted(open_.front())))};
    }
  }

  static std::string NameOf(JsonObject& keys, const std::string& fallback) {
    std::string name = keys.Text("name", fallback);
    if (name.empty() || name.size() > kLongestName || name == kStart) {
      keys.Fail(
          "name",
          fmt::format("must be 1 to {} letters, and not '{}', which is what comes into a repeat",
                      kLongestName, kStart));
    }
    return name;
  }

  // The tensors of a name or a list of names.
  std::vector<TensorId> Named(JsonObject& keys, std::string_view key, const json& value) {
    std::vector<TensorId> ids;
    const auto add = [&](const json& one) {
      if (!one.is_string()) {
        keys.Fail(key, "must be the name of a layer or input, or a list of names");
        return;
      }
      const auto name = one.get<std::string>();
      const auto found = names_.find(name);
      if (found != names_.end()) {
        ids.push_back(found->second);
        return;
      }
      std::vector<std::string> known;
      for (const auto& [other, id] : names_) {
        if (known.size() < kMostNamed) known.push_back(other);
      }
      keys.Fail(key, fmt::format("names {}, but no layer or input before it is called so{}",
                                 Quoted(name), core::DidYouMean(name, known)));
    };
    if (value.is_array() && value.size() > kMostNamed) {
      keys.Fail(key, fmt::format("names {} layers; we read up to {}", value.size(), kMostNamed));
    } else if (value.is_array()) {
      for (const json& one : value) {
        if (keys.ok()) add(one);
      }
    } else {
      add(value);
    }
    return ids;
  }

  void ReadList(const json& list, const std::string& path, const std::string& prefix, int depth) {
    for (std::size_t i = 0; i < list.size() && !error_; ++i) {
      ReadLayer(list[i], fmt::format("{}[{}]", path, i), prefix, i, depth);
    }
  }

  void ReadLayer(const json& json_layer, const std::string& path, const std::string& prefix,
                 std::size_t index, int depth) {
    const auto fail = [&](const std::string& message) {
      error_ =
          core::Error{core::ErrorKind::kUsage, fmt::format("{}: {}: {}", file_, path, message)};
    };
    if (++layers_ > kMostLayers || builder_.op_count() > kMostOps) {
      return fail(
          fmt::format("with its repeats written out the list has more than {} layers or {} "
                      "operators, the most we read",
                      kMostLayers, kMostOps));
    }
    if (!json_layer.is_object())
      return fail("must be an object with a type, like {\"type\": \"relu\"}");
    JsonObject untyped(json_layer, fmt::format("{}: {}", file_, path));
    const std::string type = untyped.Text("type", "");
    Keep(untyped);
    if (error_) return;
    const std::string shown = Quoted(type);
    JsonObject keys(json_layer,
                    fmt::format("{}: {} ({})", file_, path, shown.substr(1, shown.size() - 2)));
    if (type == "repeat") return ReadRepeat(json_layer, keys, path, prefix, depth);
    const auto types = Types();
    const auto known =
        std::find_if(types.begin(), types.end(), [&](const Type& one) { return one.name == type; });
    if (known == types.end()) {
      const auto names = LayerTypes();
      return fail(fmt::format("'type' {} is no layer we know; we know {}{}", Quoted(type),
                              fmt::join(names, ", "), core::DidYouMean(type, names)));
    }
    auto allowed = Words(known->keys);
    allowed.insert(allowed.begin(), {"type", "name", "from"});
    AllowOnly(keys, json_layer, allowed, type);
    const std::string own = NameOf(keys, fmt::format("{}{}", type, index));
    Layer layer{builder_, keys, type, prefix + own, x_, {}};
    if (const json* from = keys.Find("from"); from != nullptr) {
      const auto ids = Named(keys, "from", *from);
      if (keys.ok() && ids.size() != 1)
        keys.Fail("from", "must be one name; others go into 'with'");
      if (keys.ok()) layer.x = ids[0];
    }
    if (const json* with = keys.Find("with"); with != nullptr)
      layer.with = Named(keys, "with", *with);
    if (keys.ok()) x_ = known->build(layer);
    Keep(keys);
    names_[own] = x_;
  }

  void ReadRepeat(const json& repeat, JsonObject& keys, const std::string& path,
                  const std::string& prefix, int depth) {
    AllowOnly(keys, repeat, {"type", "name", "times", "layers"}, "repeat");
    const std::string own = NameOf(keys, "repeat");
    const std::int64_t times = keys.Whole("times", {1, static_cast<std::int64_t>(kMostLayers)});
    const json* list = keys.Find("layers");
    if (list == nullptr || !list->is_array() || list->empty())
      keys.Fail("layers", "must be a list of at least one layer");
    if (depth >= kDeepest)
      keys.FailWith(fmt::format("stands more than {} repeats deep, the most we read", kDeepest));
    Keep(keys);
    if (error_) return;
    const auto outer = names_.find(std::string(kStart));
    const TensorId outer_start = outer == names_.end() ? kAbsent : outer->second;
    for (std::int64_t i = 0; i < times && !error_; ++i) {
      names_[std::string(kStart)] = x_;
      ReadList(*list, path + ".layers", fmt::format("{}{}.{}.", prefix, own, i), depth + 1);
    }
    names_.erase(std::string(kStart));
    if (outer_start != kAbsent) names_[std::string(kStart)] = outer_start;
    names_[own] = x_;
  }

  std::string file_;
  const Binding& binding_;
  Builder builder_;
  TensorId x_ = kAbsent;  // what the next layer takes
  std::map<std::string, TensorId> names_;
  std::vector<std::string> open_;
  std::size_t layers_ = 0;
  std::optional<core::Error> error_;
};

}  // namespace
}  // namespace layers

std::vector<std::string> LayerTypes() {
  std::vector<std::string> types;
  for (const auto& type : layers::Types()) types.emplace_back(type.name);
  types.emplace_back("repeat");
  return types;
}

core::Result<Graph> ReadLayers(std::string_view bytes, const std::string& name,
                               const Binding& binding) {
  const auto root = ParseJson(bytes, name, layers::kLargestFile);
  RETURN_IF_ERROR(root);
  if (!root->is_object()) {
    return core::UsageError(
        "{}: is no layer list: a JSON object with inputs and layers is expected", name);
  }
  return layers::Reader(name, binding).Read(*root);
}

}  // namespace sharewell::graph
