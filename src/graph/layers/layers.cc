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
using json::Value;

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

  core::Result<Graph> Read(Value root) {
    json::Reader keys(root, file_ + ": ", json::Trust::kSent, error_);
    AllowOnly(keys, root, {"schema", "name", "inputs", "layers", "outputs"}, "the file");
    keys.WholeOr("schema", 1, {1, 1});
    const Value inputs = keys.Member("inputs");
    if (!inputs.is_list() || inputs.empty()) {
      keys.Fail("inputs",
                "must be a list of at least one, like [{\"name\": \"x\", \"shape\": [\"batch\", 3, "
                "224, 224]}]");
    }
    std::size_t index = 0;
    for (const Value input : inputs.items()) {
      if (ok()) ReadInput(input, index++);
    }
    CheckBinding();
    const Value list = keys.Member("layers");
    if (!list.is_list() || list.empty()) {
      keys.Fail("layers", "must be a list of at least one layer");
    }
    ReadList(list, "layers", "", 0);
    std::vector<TensorId> outputs = {x_};
    if (keys.Has("outputs")) outputs = Named(keys, "outputs");
    if (!ok()) return core::UsageError("{}", error_);
    return std::move(builder_).Finish(std::move(outputs));
  }

 private:
  bool ok() const { return error_.empty(); }
  json::Reader KeysOf(Value object, std::string_view path) {
    return {object, fmt::format("{}: {}: ", file_, path), json::Trust::kSent, error_};
  }
  void Fail(std::string_view path, std::string_view why) {
    if (ok()) error_ = fmt::format("{}: {}: {}", file_, path, why);
  }

  // Lists the keys, which a layer has but a few of.
  static void AllowOnly(json::Reader& keys, Value object, const std::vector<std::string>& known,
                        std::string_view of) {
    for (const auto& [key, value] : object.members()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      return keys.Fail(fmt::format("{} is no key of {}; its keys are {}{}", Quoted(key), of,
                                   fmt::join(known, ", "),
                                   core::DidYouMean(std::string(key), known)));
    }
  }

  void ReadInput(Value input, std::size_t index) {
    const std::string path = fmt::format("inputs[{}]", index);
    if (!input.is_object()) return Fail(path, "must be an object with a name and a shape");
    json::Reader keys = KeysOf(input, path);
    AllowOnly(keys, input, {"name", "shape", "dtype"}, "an input");
    const std::string name = NameOf(keys, "input");
    const Value shape = keys.Member("shape");
    if (!shape.is_list() || shape.empty() || shape.size() > kMostDims) {
      return keys.Fail("shape", "must be a list of sizes, like [\"batch\", 3, 224, 224]");
    }
    Dims dims;
    for (const Value size : shape.items()) dims.push_back(SizeOf(keys, size));
    const std::string dtype = keys.TextOr("dtype", "float32");
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
    if (!ok()) return;
    const TensorId id = builder_.Input(name, std::move(dims), type->second);
    if (x_ == kAbsent) x_ = id;
    names_[name] = id;
  }

  // A number, "batch", or the name of a dimension that the binding gives.
  std::int64_t SizeOf(json::Reader& keys, Value size) {
    const auto number = size.Whole();
    if (number && *number >= 1 && *number <= kLargestDim) return *number;
    if (const auto name = size.Text()) {
      if (*name == "batch") return binding_.batch;
      open_.emplace_back(*name);
      for (const auto& [bound, value] : binding_.named) {
        if (bound != *name) continue;
        if (value >= 1 && value <= kLargestDim) return value;
        keys.Fail("shape", fmt::format("cannot have {} as {}; give a number from 1 to {}", value,
                                       Quoted(*name), kLargestDim));
        return 1;
      }
      keys.Fail("shape", fmt::format("leaves {} open; bind it, as in --bind {}=128", Quoted(*name),
                                     Quoted(*name).substr(1, Quoted(*name).size() - 2)));
      return 1;
    }
    keys.Fail("shape", fmt::format("has a size that is neither a number from 1 to {} nor a name",
                                   kLargestDim));
    return 1;
  }

  void CheckBinding() {
    for (const auto& [bound, value] : binding_.named) {
      if (!ok() || std::find(open_.begin(), open_.end(), bound) != open_.end()) continue;
      error_ = fmt::format("{}: has no open dimension {}; {}", file_, Quoted(bound),
                           open_.empty() ? std::string("its inputs leave none open but the batch")
                                         : fmt::format("it has {}", Quoted(open_.front())));
    }
  }

  static std::string NameOf(json::Reader& keys, const std::string& fallback) {
    std::string name = keys.TextOr("name", fallback);
    if (name.empty() || name.size() > kLongestName || name == kStart) {
      keys.Fail(
          "name",
          fmt::format("must be 1 to {} letters, and not '{}', which is what comes into a repeat",
                      kLongestName, kStart));
    }
    return name;
  }

  // The tensors of a name or a list of names.
  std::vector<TensorId> Named(json::Reader& keys, std::string_view key) {
    const Value value = keys.Member(key);
    std::vector<TensorId> ids;
    const auto add = [&](Value one) {
      if (!one.is_text()) {
        keys.Fail(key, "must be the name of a layer or input, or a list of names");
        return;
      }
      const std::string name(*one.Text());
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
    if (value.size() > kMostNamed) {
      keys.Fail(key, fmt::format("names {} layers; we read up to {}", value.size(), kMostNamed));
    } else if (value.is_list()) {
      for (const Value one : value.items()) {
        if (ok()) add(one);
      }
    } else {
      add(value);
    }
    return ids;
  }

  void ReadList(Value list, const std::string& path, const std::string& prefix, int depth) {
    std::size_t index = 0;
    for (const Value item : list.items()) {
      if (!ok()) return;
      ReadLayer(item, fmt::format("{}[{}]", path, index), prefix, index, depth);
      ++index;
    }
  }

  void ReadLayer(Value object, const std::string& path, const std::string& prefix,
                 std::size_t index, int depth) {
    if (++layers_ > kMostLayers || builder_.op_count() > kMostOps) {
      return Fail(path,
                  fmt::format("with its repeats written out the list has more than {} layers or {} "
                              "operators, the most we read",
                              kMostLayers, kMostOps));
    }
    if (!object.is_object()) {
      return Fail(path, "must be an object with a type, like {\"type\": \"relu\"}");
    }
    const std::string type = KeysOf(object, path).TextOr("type", "");
    if (!ok()) return;
    const std::string shown = Quoted(type);
    json::Reader keys =
        KeysOf(object, fmt::format("{} ({})", path, shown.substr(1, shown.size() - 2)));
    if (type == "repeat") return ReadRepeat(object, keys, path, prefix, depth);
    const auto types = Types();
    const auto known =
        std::find_if(types.begin(), types.end(), [&](const Type& one) { return one.name == type; });
    if (known == types.end()) {
      const auto names = LayerTypes();
      return Fail(path, fmt::format("'type' {} is no layer we know; we know {}{}", Quoted(type),
                                    fmt::join(names, ", "), core::DidYouMean(type, names)));
    }
    auto allowed = Words(known->keys);
    allowed.insert(allowed.begin(), {"type", "name", "from"});
    AllowOnly(keys, object, allowed, type);
    const std::string own = NameOf(keys, fmt::format("{}{}", type, index));
    Layer layer{builder_, keys, type, prefix + own, x_, {}};
    if (keys.Has("from")) {
      const auto ids = Named(keys, "from");
      if (ids.size() != 1) keys.Fail("from", "must be one name; others go into 'with'");
      if (ok()) layer.x = ids[0];
    }
    if (keys.Has("with")) layer.with = Named(keys, "with");
    if (ok()) x_ = known->build(layer);
    names_[own] = x_;
  }

  void ReadRepeat(Value repeat, json::Reader& keys, const std::string& path,
                  const std::string& prefix, int depth) {
    AllowOnly(keys, repeat, {"type", "name", "times", "layers"}, "repeat");
    const std::string own = NameOf(keys, "repeat");
    const std::int64_t times = keys.NeedWhole("times", {1, static_cast<std::int64_t>(kMostLayers)});
    const Value list = keys.Member("layers");
    if (!list.is_list() || list.empty())
      keys.Fail("layers", "must be a list of at least one layer");
    if (depth >= kDeepest)
      keys.Fail(fmt::format("stands more than {} repeats deep, the most we read", kDeepest));
    if (!ok()) return;
    const auto outer = names_.find(std::string(kStart));
    const TensorId outer_start = outer == names_.end() ? kAbsent : outer->second;
    for (std::int64_t i = 0; i < times && ok(); ++i) {
      names_[std::string(kStart)] = x_;
      ReadList(list, path + ".layers", fmt::format("{}{}.{}.", prefix, own, i), depth + 1);
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
  std::string error_;  // the first
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
  const auto parsed = ParseModelJson(bytes, name, layers::kLargestFile);
  RETURN_IF_ERROR(parsed);
  if (!parsed->root().is_object()) {
    return core::UsageError(
        "{}: is no layer list: a JSON object with inputs and layers is expected", name);
  }
  return layers::Reader(name, binding).Read(parsed->root());
}

}  // namespace sharewell::graph
