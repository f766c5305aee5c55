#include "predict/learn/serialize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "json/reader.h"
#include "json/writer.h"
#include "predict/learn/damaged.h"

namespace sharewell::predict::learn {
namespace {

constexpr std::string_view kFormat = "sharewell-learned";
constexpr int kVersion = 1;
constexpr std::size_t kMostTrees = 1'000'000;
// Conditioning on rows takes their cube in time.
constexpr std::size_t kMostGaussianRows = 5'000;
constexpr std::size_t kMostLevels = 1'000;

using json::Reader;
using json::Trust;
using json::Value;
using json::Within;
using json::Writer;

constexpr Within kBounded{-kLargest, kLargest};
constexpr Within kAnyNumber{-std::numeric_limits<double>::max(),
                            std::numeric_limits<double>::max()};

void WriteModel(Writer& out, const TreeEnsemble& model) {
  out.Object([&] {
    out.Field("kind", "trees");
    out.Field("base", model.base);
    out.Field("members", model.members);
    out.Field("importance", model.importance);
    out.List("trees", model.trees, [&](const Tree& tree) {
      out.Object([&] {
        out.List("feature", tree.nodes, [&](const Tree::Node& node) {
          out.Value(node.leaf() ? -1 : 2 * node.feature + (node.missing_left ? 1 : 0));
        });
        out.List("value", tree.nodes, [&](const Tree::Node& node) { out.Value(node.value); });
      });
    });
  });
}

void WriteModel(Writer& out, const Linear& model) {
  out.Object([&] {
    out.Field("kind", "linear");
    out.Field("means", model.scaler.means);
    out.Field("factors", model.scaler.factors);
    out.Field("intercept", model.intercept);
    out.Field("coefficients", model.coefficients);
  });
}

void WriteModel(Writer& out, const Gaussian& model) {
  const GaussianState& state = model.state();
  out.Object([&] {
    out.Field("kind", "gaussian");
    out.Field("kernel", state.kernel == Kernel::kRbf ? "rbf" : "matern52");
    out.Field("means", state.scaler.means);
    out.Field("factors", state.scaler.factors);
    out.Field("inverse_lengths", state.inverse_lengths);
    out.Field("noise", state.noise);
    out.Field("signal", state.signal);
    out.Field("mean", state.mean);
    out.Field("rows", state.rows);
    out.Field("targets", state.targets);
    out.Field("weights", state.weights);
    out.Field("solution", model.solution());
  });
}

void WriteModel(Writer& out, const MeanModel& model) {
  out.Object([&] {
    out.Field("kind", "mean");
    out.List("members", model.members, [&](const auto& member) {
      std::visit([&](const auto& m) { WriteModel(out, m); }, member);
    });
  });
}

std::vector<double> NumbersUpTo(std::size_t most, Reader& in, std::string_view key, Within within) {
  auto numbers = in.NeedNumbers(key, within);
  in.Expect(numbers.size() <= most, "{}: has {} entries, and {} is the most", key, numbers.size(),
            most);
  if (!in.ok()) numbers.clear();
  return numbers;
}

// A tree of `features` features whose splits and leaves add up: each split, in order, takes the
// next two nodes as its children.
Tree ReadTree(Reader in, std::size_t features) {
  const auto codes = in.NeedNumbers("feature", kAnyNumber);
  const auto values = in.NeedNumbers("value", kAnyNumber);
  in.RefuseOthers();
  Tree tree;
  in.Expect(!codes.empty() && codes.size() == values.size(),
            "a tree has {} features for {} values: one each a node, and at least one node",
            codes.size(), values.size());
  if (!in.ok()) return tree;
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
    if (!in.ok()) return tree;
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

TreeEnsemble ReadTrees(Reader& in, std::size_t features) {
  TreeEnsemble model;
  model.base = in.NeedNumber("base", kBounded);
  model.members = static_cast<std::size_t>(in.NeedWhole("members", {0, kMostTrees}));
  model.importance = in.NeedNumbers("importance", features, {0, 1 + 1e-9});
  const auto trees = in.NeedList("trees", kMostTrees);
  model.trees.reserve(trees.size());
  for (const Value tree : trees) {
    // Which tree it was is only said where one is wrong: there are thousands.
    model.trees.push_back(ReadTree({tree, "", Trust::kSent, in.error()}, features));
    if (in.ok()) continue;
    in.error() = fmt::format("{}trees[{}]: {}", in.place(), model.trees.size() - 1, in.error());
    return model;
  }
  in.Expect(model.members == 1 || (model.members > 0 && !model.trees.empty() &&
                                   model.trees.size() % model.members == 0),
            "{} trees cannot be shared out to {} members", model.trees.size(), model.members);
  return model;
}

Scaler ReadScaler(Reader& in, std::size_t features) {
  return {in.NeedNumbers("means", features, kBounded),
          in.NeedNumbers("factors", features, {0, kLargest})};
}

Linear ReadLinear(Reader& in, std::size_t features) {
  Linear model;
  model.scaler = ReadScaler(in, features);
  model.intercept = in.NeedNumber("intercept", kBounded);
  model.coefficients = in.NeedNumbers("coefficients", features, kBounded);
  return model;
}

Gaussian ReadGaussian(Reader& in, std::size_t features) {
  GaussianState state;
  const std::string kernel = in.NeedText("kernel");
  in.Expect(kernel == "rbf" || kernel == "matern52", "there is no kernel \"{}\"", kernel);
  state.kernel = kernel == "rbf" ? Kernel::kRbf : Kernel::kMatern52;
  state.scaler = ReadScaler(in, features);
  state.inverse_lengths = in.NeedNumbers("inverse_lengths", features, {0, kLargest});
  state.noise = in.NeedNumber("noise", {1e-12, kLargest});
  state.signal = in.NeedNumber("signal", {0, kLargest});
  state.mean = in.NeedNumber("mean", kBounded);
  state.targets = NumbersUpTo(kMostGaussianRows, in, "targets", kBounded);
  const std::size_t rows = state.targets.size();
  state.weights = in.NeedNumbers("weights", rows, {1e-12, kLargest});
  state.rows = in.NeedNumbers("rows", rows * features, kBounded);
  // Models of older programs have none: it follows from the rest, and takes most of the reading.
  if (in.Has("solution")) {
    auto solution = in.NeedNumbers("solution", rows, kBounded);
    if (!in.ok()) return {};
    return Gaussian::FromSolved(std::move(state), std::move(solution));
  }
  if (!in.ok()) return {};
  auto gaussian = Gaussian::From(std::move(state));
  in.Expect(gaussian.has_value(), "the rows of the Gaussian process cannot be told apart");
  return gaussian ? std::move(*gaussian) : Gaussian();
}

MeanModel::Member ReadMember(Reader in, std::size_t features) {
  const std::string kind = in.NeedText("kind");
  MeanModel::Member model;
  if (kind == "trees") {
    model = ReadTrees(in, features);
  } else if (kind == "linear") {
    model = ReadLinear(in, features);
  } else if (kind == "gaussian") {
    model = ReadGaussian(in, features);
  } else {
    in.Fail("kind", fmt::format("there is no kind of model \"{}\" here", kind));
  }
  in.RefuseOthers();
  return model;
}

Regressor::Model ReadModel(Reader in, std::size_t features) {
  const std::string kind = in.NeedText("kind");
  if (kind != "mean") {
    return std::visit(
        [](auto&& model) -> Regressor::Model { return std::forward<decltype(model)>(model); },
        ReadMember(std::move(in), features));
  }
  // Not by recursion: a mean of means of means could go as deep as the text is long.
  MeanModel model;
  const auto members = in.NeedList("members", 100);
  in.RefuseOthers();
  in.Expect(!members.empty(), "a mean has no members");
  for (const Value member : members) {
    const std::string place = fmt::format("{}members[{}].", in.place(), model.members.size());
    model.members.push_back(ReadMember({member, place, Trust::kSent, in.error()}, features));
    if (!in.ok()) break;
  }
  return model;
}

}  // namespace

std::string Write(const Regressor& regressor) {
  std::string text;
  Writer out(text);
  out.Object([&] {
    out.Field("format", kFormat);
    out.Field("version", kVersion);
    out.Field("features", regressor.features());
    out.Key("model");
    std::visit([&](const auto& model) { WriteModel(out, model); }, regressor.model());
  });
  return text;
}

std::string Write(const Conformal& conformal) {
  std::string text;
  Writer out(text);
  out.Object([&] {
    out.Field("levels", conformal.levels);
    out.Field("pooled", conformal.pooled);
    out.Object("families", [&] {
      for (const auto& [name, offsets] : conformal.family) out.Field(name, offsets);
    });
  });
  return text;
}

void WriteInto(json::Writer& out, std::string_view written) {
  const auto parsed = json::Document::Parse(written);
  SHAREWELL_CHECK(parsed.has_value());
  out.Value(parsed->root());
}

core::Result<Regressor> ReadRegressor(std::string_view text) {
  const auto parsed = json::Document::Parse(text);
  if (!parsed) return Damaged("learned model", parsed.error().message);
  return RegressorFromJson(parsed->root());
}
core::Result<Conformal> ReadConformal(std::string_view text) {
  const auto parsed = json::Document::Parse(text);
  if (!parsed) return Damaged("calibration", parsed.error().message);
  return ConformalFromJson(parsed->root());
}

core::Result<Regressor> RegressorFromJson(Value value, const std::string& place) {
  std::string error;
  Reader in(value, place, Trust::kSent, error);
  const std::string format = in.NeedText("format");
  in.Expect(format == kFormat, "its format is \"{}\", not \"{}\"", format, kFormat);
  const std::int64_t version = in.NeedWhole("version", {0, 1'000'000});
  in.Expect(version == kVersion, "it is of version {}; this program reads version {}", version,
            kVersion);
  std::vector<std::string> features;
  in.Need("features");
  in.Texts("features", features, kMostFeatures);
  in.Expect(!features.empty(), "it has no features");
  std::optional<Regressor::Model> model;
  if (in.ok()) model = ReadModel(in.Part("model"), features.size());
  in.RefuseOthers();
  if (!in.ok()) return Damaged("learned model", error);
  return Regressor(std::move(features), *std::move(model));
}

core::Result<Conformal> ConformalFromJson(Value value, const std::string& place) {
  std::string error;
  Reader in(value, place, Trust::kSent, error);
  Conformal out;
  out.levels = NumbersUpTo(kMostLevels, in, "levels", {0, 1});
  const std::size_t levels = out.levels.size();
  in.Expect(levels > 0, "it has no levels");
  in.Expect(std::is_sorted(out.levels.begin(), out.levels.end()), "its levels do not ascend");
  out.pooled = in.NeedNumbers("pooled", levels, kBounded);
  Reader families = in.Part("families");
  for (const auto& [name, offsets] : in.Member("families").members()) {
    out.family[std::string(name)] = families.NeedNumbers(name, levels, kBounded);
  }
  in.RefuseOthers();
  if (!in.ok()) return Damaged("calibration", error);
  return out;
}

}  // namespace sharewell::predict::learn
