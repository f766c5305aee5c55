#include "predict/learn/spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <limits>

namespace sharewell::predict::learn {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"linear", "boosted",  "forest",
                                                    "extra",  "gaussian", "mean"};

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

// Limits far above any use: they keep a mistyped option from running for a day.
constexpr int kMostTrees = 100'000;
constexpr int kDeepest = 64;
constexpr std::size_t kMostGaussianRows = 5'000;

core::Result<void> Within(std::string_view name, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  return core::UsageError("{} is {}; it must be from {} to {}", name, value, low, high);
}

core::Result<void> Share(std::string_view name, double value) {
  if (value > 0 && value <= 1) return {};
  return core::UsageError("{} is {}; it must be above 0 and at most 1", name, value);
}

core::Result<void> CheckBoosting(const BoostingOptions& o) {
  const double large = std::numeric_limits<double>::max();
  for (const auto& checked :
       {Within("rounds", o.rounds, 1, kMostTrees), Within("depth", o.depth, 0, kDeepest),
        Within("eta", o.eta, 0, 1), Within("lambda", o.lambda, 0, large),
        Within("min_child_weight", o.min_child_weight, 0, large),
        Within("gamma", o.gamma, 0, large), Share("subsample", o.subsample),
        Share("colsample", o.colsample), Share("colsample_node", o.colsample_node),
        Within("bags", o.bags, 1, 1000)}) {
    if (!checked) return checked;
  }
  return {};
}

core::Result<void> CheckForest(const ForestOptions& o) {
  for (const auto& checked :
       {Within("trees", o.trees, 1, kMostTrees), Within("depth", o.depth, 0, kDeepest),
        Within("min_child_weight", o.min_child_weight, 0, std::numeric_limits<double>::max()),
        Share("colsample_node", o.colsample_node)}) {
    if (!checked) return checked;
  }
  return {};
}

core::Result<void> CheckGaussian(const GaussianOptions& o) {
  for (const auto& checked :
       {Within("length", o.length, 0, 1e6), Within("noise", o.noise, 0, 1e6),
        Within("most_rows", static_cast<double>(o.most_rows), 2, kMostGaussianRows),
        Within("tuned_rows", static_cast<double>(o.tuned_rows), 2, kMostGaussianRows)}) {
    if (!checked) return checked;
  }
  return {};
}

core::Result<void> CheckMean(const MeanOptions& o) {
  if (o.members.empty()) return core::UsageError("a mean needs learners to average");
  for (const LearnerSpec& member : o.members) {
    if (std::holds_alternative<MeanOptions>(member.options)) {
      return core::UsageError("a mean of means: list the learners of the inner one instead");
    }
    if (auto checked = member.Check(); !checked) return checked;
  }
  return {};
}

std::vector<LearnerSpec> BoostedGrid() {
  std::vector<LearnerSpec> out;
  for (int depth : {2, 3, 4, 6}) {
    for (int rounds : {150, 500}) {
      BoostingOptions o;
      o.depth = depth;
      o.rounds = rounds;
      o.subsample = 0.8;
      o.colsample_node = 0.5;
      out.push_back({o});
    }
  }
  return out;
}

std::vector<LearnerSpec> ForestGrid(bool extra) {
  std::vector<LearnerSpec> out;
  for (double leaf : {3.0, 1.0}) {
    for (double colsample : {0.33, 0.66, 1.0}) {
      ForestOptions o;
      o.extra = extra;
      o.min_child_weight = leaf;
      o.colsample_node = colsample;
      out.push_back({o});
    }
  }
  return out;
}

std::vector<LearnerSpec> LinearGrid() {
  std::vector<LearnerSpec> out;
  for (double lambda : {1000.0, 100.0, 10.0, 1.0, 0.1}) out.push_back({LinearOptions{lambda}});
  return out;
}

std::vector<LearnerSpec> GaussianGrid() {
  std::vector<LearnerSpec> out;
  for (bool ard : {false, true}) {
    for (Kernel kernel : {Kernel::kMatern52, Kernel::kRbf}) {
      GaussianOptions o;
      o.kernel = kernel;
      o.ard = ard;
      out.push_back({o});
    }
  }
  return out;
}

// Learners of different make err differently: their mean is better than most of them.
std::vector<LearnerSpec> MeanGrid() {
  BoostingOptions boosted;
  boosted.depth = 4;
  boosted.rounds = 500;
  boosted.subsample = 0.8;
  boosted.colsample_node = 0.5;
  ForestOptions extra;
  extra.extra = true;
  extra.colsample_node = 0.66;
  GaussianOptions gaussian;
  gaussian.ard = true;
  const LearnerSpec b{boosted};
  const LearnerSpec e{extra};
  const LearnerSpec g{gaussian};
  const LearnerSpec l{LinearOptions{10}};
  return {{MeanOptions{{b, e}}},
          {MeanOptions{{b, g}}},
          {MeanOptions{{b, e, g}}},
          {MeanOptions{{b, e, g, l}}}};
}

}  // namespace

std::span<const std::string_view> Kinds() { return kKinds; }

std::string_view LearnerSpec::Kind() const {
  return std::visit(
      Overloaded{
          [](const BoostingOptions&) -> std::string_view { return "boosted"; },
          [](const ForestOptions& o) -> std::string_view { return o.extra ? "extra" : "forest"; },
          [](const LinearOptions&) -> std::string_view { return "linear"; },
          [](const GaussianOptions&) -> std::string_view { return "gaussian"; },
          [](const MeanOptions&) -> std::string_view { return "mean"; }},
      options);
}

std::string LearnerSpec::Describe() const {
  const std::string rest = std::visit(
      Overloaded{
          [](const BoostingOptions& o) {
            return fmt::format(
                "rounds={} depth={} eta={} lambda={} min_child_weight={} gamma={} subsample={} "
                "colsample={} colsample_node={} bags={} seed={}",
                o.rounds, o.depth, o.eta, o.lambda, o.min_child_weight, o.gamma, o.subsample,
                o.colsample, o.colsample_node, o.bags, o.seed);
          },
          [](const ForestOptions& o) {
            return fmt::format("trees={} depth={} min_child_weight={} colsample_node={} seed={}",
                               o.trees, o.depth, o.min_child_weight, o.colsample_node, o.seed);
          },
          [](const LinearOptions& o) { return fmt::format("lambda={}", o.lambda); },
          [](const GaussianOptions& o) {
            return fmt::format("kernel={}{} length={} noise={} seed={}",
                               o.kernel == Kernel::kRbf ? "rbf" : "matern52", o.ard ? " ard" : "",
                               o.length, o.noise, o.seed);
          },
          [](const MeanOptions& o) {
            std::vector<std::string> members;
            for (const LearnerSpec& member : o.members) members.push_back(member.Describe());
            return fmt::format("({})", fmt::join(members, "; "));
          }},
      options);
  return fmt::format("{} {}", Kind(), rest);
}

core::Result<void> LearnerSpec::Check() const {
  auto checked = std::visit(
      Overloaded{[](const BoostingOptions& o) { return CheckBoosting(o); },
                 [](const ForestOptions& o) { return CheckForest(o); },
                 [](const LinearOptions& o) { return Within("lambda", o.lambda, 1e-12, 1e12); },
                 [](const GaussianOptions& o) { return CheckGaussian(o); },
                 [](const MeanOptions& o) { return CheckMean(o); }},
      options);
  if (!checked) return tl::unexpected(std::move(checked.error()).Within(std::string(Kind())));
  return {};
}

core::Result<std::vector<LearnerSpec>> Grid(std::string_view kind) {
  if (kind == "boosted") return BoostedGrid();
  if (kind == "forest") return ForestGrid(false);
  if (kind == "extra") return ForestGrid(true);
  if (kind == "linear") return LinearGrid();
  if (kind == "gaussian") return GaussianGrid();
  if (kind == "mean") return MeanGrid();
  return core::UsageError("there is no learner \"{}\"; there are {}", kind,
                          fmt::join(kKinds, ", "));
}

}  // namespace sharewell::predict::learn
