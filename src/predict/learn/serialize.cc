#include "predict/learn/serialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "predict/learn/json_reading.h"
#include "predict/learn/json_value.h"

namespace sharewell::predict::learn {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "sharewell-learned";
constexpr double kVersion = 1;
constexpr std::size_t kMostTrees = 1'000'000;
// Conditioning on rows takes their cube in time.
constexpr std::size_t kMostGaussianRows = 5'000;
constexpr std::size_t kMostLevels = 1'000;

class Writer {
 public:
  void Raw(std::string_view text) { out_ += text; }
  void Number(double value) {
    // "-0" would be read back as the whole number 0.
    if (value == 0 && std::signbit(value)) {
      out_ += "-0.0";
    } else {
      fmt::format_to(std::back_inserter(out_), "{}", value);
    }
  }
  void Text(const std::string& value) {
    out_ += json(value).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  template <class Range, class F>
  void List(const Range& range, const F& each) {
    out_ += '[';
    bool first = true;
    for (const auto& element : range) {
      if (!std::exchange(first, false)) out_ += ',';
      each(element);
    }
    out_ += ']';
  }
  // ,"key":[...]
  void Numbers(std::string_view key, std::span<const double> values) {
    Key(key);
    List(values, [&](double value) { Number(value); });
  }
  void Number(std::string_view key, double value) {
    Key(key);
    Number(value);
  }
  void Key(std::string_view key) { fmt::format_to(std::back_inserter(out_), ",\"{}\":", key); }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

void WriteModel(Writer& out, const TreeEnsemble& model) {
  out.Raw("{\"kind\":\"trees\"");
  out.Number("base", model.base);
  out.Number("members", static_cast<double>(model.members));
  out.Numbers("importance", model.importance);
  out.Key("trees");
  out.List(model.trees, [&](const Tree& tree) {
    out.Raw("{\"feature\":");
    out.List(tree.nodes, [&](const Tree::Node& node) {
      out.Number(node.leaf() ? -1 : 2 * node.feature + (node.missing_left ? 1 : 0));
    });
    out.Raw(",\"value\":");
    out.List(tree.nodes, [&](const Tree::Node& node) { out.Number(node.value); });
    out.Raw("}");
  });
  out.Raw("}");
}

void WriteModel(Writer& out, const Linear& model) {
  out.Raw("{\"kind\":\"linear\"");
  out.Numbers("means", model.scaler.means);
  out.Numbers("factors", model.scaler.factors);
  out.Number("intercept", model.intercept);
  out.Numbers("coefficients", model.coefficients);
  out.Raw("}");
}

void WriteModel(Writer& out, const Gaussian& model) {
  const GaussianState& state = model.state();
  out.Raw("{\"kind\":\"gaussian\",\"kernel\":");
  out.Raw(state.kernel == Kernel::kRbf ? "\"rbf\"" : "\"matern52\"");
  out.Numbers("means", state.scaler.means);
  out.Numbers("factors", state.scaler.factors);
  out.Numbers("inverse_lengths", state.inverse_lengths);
  out.Number("noise", state.noise);
  out.Number("signal", state.signal);
  out.Number("mean", state.mean);
  out.Numbers("rows", state.rows);
  out.Numbers("targets", state.targets);
  out.Numbers("weights", state.weights);
  out.Numbers("solution", model.solution());
  out.Raw("}");
}

void WriteModel(Writer& out, const MeanModel& model) {
  out.Raw("{\"kind\":\"mean\",\"members\":");
  out.List(model.members, [&](const auto& member) {
    std::visit([&](const auto& m) { WriteModel(out, m); }, member);
  });
  out.Raw("}");
}

// A tree of `features` features whose splits and leaves add up: each split, in order, takes the
// next two nodes as its children.
Tree ReadTree(Reader& in, const JsonValue& value, std::size_t features) {
  in.Only(value, {"feature", "value"});
  const auto codes = in.Numbers(value, "feature");
  const auto values = in.Numbers(value, "value");
  Tree tree;
  in.Expect(!codes.empty() && codes.size() == values.size(),
            "a tree has {} features for {} values: one each a node, and at least one node",
            codes.size(), values.size());
  if (in.failed()) return tree;
  tree.nodes.resize(codes.size());
  std::size_t children = 1;  // where the next split's children are
  for (std::size_t i = 0; i < codes.size(); ++i) {
    Tree::Node& node = tree.nodes[i];
    node.value = values[i];
    if (codes[i] == -1) {
      in.Expect(std::abs(values[i]) <= kLargest, "a leaf of a tree answers {}", values[i]);
      continue;
    }
    const double most = 2 * static_cast<double>(features);
    in.Expect(codes[i] >= 0 && codes[i] < most && std::floor(codes[i]) == codes[i],
              "a tree asks for feature {} / 2 of {}", codes[i], features);
    in.Expect(children > i && children + 1 < codes.size(),
              "a tree has splits whose children are missing");
    if (in.failed()) return tree;
    const auto code = static_cast<int>(codes[i]);
    node.feature = static_cast<std::int16_t>(code / 2);
    node.missing_left = code % 2 == 1;
    node.child = static_cast<std::int32_t>(children);
    children += 2;
  }
  in.Expect(children == codes.size(), "a tree has {} nodes that no split leads to",
            codes.size() - children);
  return tree;
}

TreeEnsemble ReadTrees(Reader& in, const JsonValue& value, std::size_t features) {
  in.Only(value, {"kind", "base", "members", "importance", "trees"});
  TreeEnsemble model;
  model.base = in.Bounded(value, "base", -kLargest, kLargest);
  model.members = in.Count(value, "members", kMostTrees);
  model.importance = in.Numbers(value, "importance", features, 0, 1 + 1e-9);
  for (const JsonValue& tree : in.List(value, "trees", kMostTrees)) {
    if (in.failed()) return model;
    model.trees.push_back(ReadTree(in, tree, features));
  }
  in.Expect(model.members == 1 || (model.members > 0 && !model.trees.empty() &&
                                   model.trees.size() % model.members == 0),
            "{} trees cannot be shared out to {} members", model.trees.size(), model.members);
  return model;
}

Scaler ReadScaler(Reader& in, const JsonValue& value, std::size_t features) {
  return {in.Numbers(value, "means", features, -kLargest, kLargest),
          in.Numbers(value, "factors", features, 0, kLargest)};
}

Linear ReadLinear(Reader& in, const JsonValue& value, std::size_t features) {
  in.Only(value, {"kind", "means", "factors", "intercept", "coefficients"});
  Linear model;
  model.scaler = ReadScaler(in, value, features);
  model.intercept = in.Bounded(value, "intercept", -kLargest, kLargest);
  model.coefficients = in.Numbers(value, "coefficients", features, -kLargest, kLargest);
  return model;
}

Gaussian ReadGaussian(Reader& in, const JsonValue& value, std::size_t features) {
  in.Only(value, {"kind", "kernel", "means", "factors", "inverse_lengths", "noise", "signal",
                  "mean", "rows", "targets", "weights", "solution"});
  GaussianState state;
  const std::string_view kernel = in.Text(value, "kernel");
  in.Expect(kernel == "rbf" || kernel == "matern52", "there is no kernel \"{}\"", kernel);
  state.kernel = kernel == "rbf" ? Kernel::kRbf : Kernel::kMatern52;
  state.scaler = ReadScaler(in, value, features);
  state.inverse_lengths = in.Numbers(value, "inverse_lengths", features, 0, kLargest);
  state.noise = in.Bounded(value, "noise", 1e-12, kLargest);
  state.signal = in.Bounded(value, "signal", 0, kLargest);
  state.mean = in.Bounded(value, "mean", -kLargest, kLargest);
  state.targets = in.NumbersUpTo(kMostGaussianRows, value, "targets", -kLargest, kLargest);
  const std::size_t rows = state.targets.size();
  state.weights = in.Numbers(value, "weights", rows, 1e-12, kLargest);
  state.rows = in.Numbers(value, "rows", rows * features, -kLargest, kLargest);
  // Models of older programs have none: it follows from the rest, and takes most of the reading.
  if (value.Has("solution")) {
    auto solution = in.Numbers(value, "solution", rows, -kLargest, kLargest);
    if (in.failed()) return {};
    return Gaussian::FromSolved(std::move(state), std::move(solution));
  }
  if (in.failed()) return {};
  auto gaussian = Gaussian::From(std::move(state));
  in.Expect(gaussian.has_value(), "the rows of the Gaussian process cannot be told apart");
  return gaussian ? std::move(*gaussian) : Gaussian();
}

Regressor::Model ReadModel(Reader& in, const JsonValue& value, std::size_t features) {
  const std::string_view kind = in.Text(value, "kind");
  if (kind == "trees") return ReadTrees(in, value, features);
  if (kind == "linear") return ReadLinear(in, value, features);
  if (kind == "gaussian") return ReadGaussian(in, value, features);
  in.Expect(kind == "mean", "there is no kind of model \"{}\"", kind);
  MeanModel model;
  if (in.failed()) return model;
  in.Only(value, {"kind", "members"});
  const auto members = in.List(value, "members", 100);
  in.Expect(!members.empty(), "a mean has no members");
  for (const JsonValue& member : members) {
    // Not by recursion: a mean of means of means could go as deep as the text is long.
    const std::string_view inner = in.Text(member, "kind");
    in.Expect(inner == "trees" || inner == "linear" || inner == "gaussian",
              "a mean has a member of kind \"{}\"", inner);
    if (in.failed()) return model;
    if (inner == "trees") model.members.emplace_back(ReadTrees(in, member, features));
    if (inner == "linear") model.members.emplace_back(ReadLinear(in, member, features));
    if (inner == "gaussian") model.members.emplace_back(ReadGaussian(in, member, features));
  }
  return model;
}

}  // namespace

std::string Write(const Regressor& regressor) {
  Writer out;
  out.Raw(fmt::format("{{\"format\":\"{}\",\"version\":{},\"features\":", kFormat, kVersion));
  out.List(regressor.features(), [&](const std::string& name) { out.Text(name); });
  out.Raw(",\"model\":");
  std::visit([&](const auto& model) { WriteModel(out, model); }, regressor.model());
  out.Raw("}");
  return out.Take();
}

std::string Write(const Conformal& conformal) {
  Writer out;
  out.Raw("{\"levels\":");
  out.List(conformal.levels, [&](double level) { out.Number(level); });
  out.Numbers("pooled", conformal.pooled);
  out.Raw(",\"families\":{");
  bool first = true;
  for (const auto& [name, offsets] : conformal.family) {
    if (!std::exchange(first, false)) out.Raw(",");
    out.Text(name);
    out.Raw(":");
    out.List(offsets, [&](double offset) { out.Number(offset); });
  }
  out.Raw("}}");
  return out.Take();
}

core::Result<Regressor> ReadRegressor(std::string_view text) {
  return RegressorFromJson(ParsedJson(text).value());
}
core::Result<Conformal> ReadConformal(std::string_view text) {
  return ConformalFromJson(ParsedJson(text).value());
}

core::Result<Regressor> RegressorFromJson(const JsonValue& value) {
  Reader in("learned model");
  in.Only(value, {"format", "version", "features", "model"});
  const std::string_view format = in.Text(value, "format");
  in.Expect(format == kFormat, "its format is \"{}\", not \"{}\"", format, kFormat);
  const double version = in.Bounded(value, "version", 0, kLargest);
  in.Expect(version == kVersion, "it is of version {}; this program reads version {}", version,
            kVersion);
  std::vector<std::string> features;
  for (const JsonValue& feature : in.List(value, "features", kMostFeatures)) {
    const auto name = feature.Text();
    in.Expect(name.has_value(), "a feature's name is no text");
    features.emplace_back(name.value_or(""));
  }
  in.Expect(!features.empty(), "it has no features");
  if (in.failed()) return in.Error();
  Regressor::Model model = ReadModel(in, in.At(value, "model"), features.size());
  if (in.failed()) return in.Error();
  return Regressor(std::move(features), std::move(model));
}

core::Result<Conformal> ConformalFromJson(const JsonValue& value) {
  Reader in("calibration");
  in.Only(value, {"levels", "pooled", "families"});
  Conformal out;
  out.levels = in.NumbersUpTo(kMostLevels, value, "levels", 0, 1);
  const std::size_t levels = out.levels.size();
  in.Expect(levels > 0, "it has no levels");
  in.Expect(std::is_sorted(out.levels.begin(), out.levels.end()), "its levels do not ascend");
  out.pooled = in.Numbers(value, "pooled", levels, -kLargest, kLargest);
  const JsonValue families = in.At(value, "families");
  in.Expect(families.is_object(), "its families are no object");
  if (in.failed()) return in.Error();
  for (const auto& [name, offsets] : families.Fields()) {
    out.family[std::string(name)] = in.Numbers(families, name, levels, -kLargest, kLargest);
  }
  if (in.failed()) return in.Error();
  return out;
}

}  // namespace sharewell::predict::learn
