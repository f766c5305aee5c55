#include "predict/yeung.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text/suggest.h"
#include "predict/base.h"
#include "predict/learn/judge/grid_search.h"
#include "predict/learn/model.h"
#include "predict/learn/spec.h"

namespace sharewell::predict {
namespace {

using graph::Kind;
using learn::LearnerSpec;

constexpr std::array<std::string_view, 6> kYeungLearners = {"yeung-linear",  "yeung-gaussian",
                                                            "yeung-boosted", "yeung-extra",
                                                            "yeung-forest",  "yeung-forest+run"};
constexpr std::string_view kYeungPrefix = "yeung-";
constexpr std::string_view kRunSuffix = "+run";
constexpr std::size_t kInnerFolds = 5;
constexpr std::size_t kFewestRows = 8;  // as our own training asks for

// What a PyTorch user calls a layer, and the kinds of operator that it becomes.
struct LayerType {
  std::string_view name;
  std::array<Kind, 2> kinds;
};
constexpr std::array<LayerType, 9> kLayerTypes{{
    {"conv", {Kind::kConv, Kind::kDeconv}},
    {"linear", {Kind::kMatMul, Kind::kMatMul}},
    {"attention", {Kind::kAttention, Kind::kAttention}},
    {"recurrent", {Kind::kRecurrent, Kind::kRecurrent}},
    {"norm", {Kind::kNorm, Kind::kNorm}},
    {"activation", {Kind::kActivation, Kind::kSoftmax}},
    {"pool", {Kind::kPool, Kind::kResample}},
    {"embedding", {Kind::kEmbedding, Kind::kEmbedding}},
    {"elementwise", {Kind::kElementwise, Kind::kReduction}},
}};

double CountOf(const graph::Graph& graph, const LayerType& type) {
  double count = 0;
  for (const graph::Op& op : graph.ops) {
    if (op.kind == type.kinds[0] || op.kind == type.kinds[1]) ++count;
    // "We modeled LSTM cell as two linear layers."
    if (type.name == "linear" && op.kind == Kind::kRecurrent) count += 2;
  }
  return count;
}

std::string_view KindOf(std::string_view learner) {
  learner.remove_prefix(kYeungPrefix.size());
  if (learner.ends_with(kRunSuffix)) learner.remove_suffix(kRunSuffix.size());
  return learner;
}

// The usual defaults of regression forests: every node sees all features, leaves of one row.
LearnerSpec ForestOf(bool extra, int trees, int depth) {
  learn::ForestOptions options;
  options.extra = extra;
  options.trees = trees;
  options.depth = depth;
  options.colsample_node = 1;
  return {options};
}

LearnerSpec BoostedOf(int rounds, int depth) {
  learn::BoostingOptions options;
  options.rounds = rounds;
  options.depth = depth;
  options.eta = 0.1;
  return {options};
}

// The first is taken where nothing is searched.
std::vector<LearnerSpec> SpecsOf(std::string_view kind) {
  if (kind == "linear") {
    constexpr double kHardlyAny = 1e-6;  // ordinary least squares
    return {{learn::LinearOptions{kHardlyAny}},
            {learn::LinearOptions{1}},
            {learn::LinearOptions{10}},
            {learn::LinearOptions{100}}};
  }
  if (kind == "gaussian") {
    learn::GaussianOptions rbf;
    rbf.kernel = learn::Kernel::kRbf;
    return {{learn::GaussianOptions{}}, {rbf}};
  }
  std::vector<LearnerSpec> out;
  if (kind == "boosted") {
    for (const int rounds : {100, 300}) {
      for (const int depth : {3, 2, 5}) out.push_back(BoostedOf(rounds, depth));
    }
    return out;
  }
  for (const int trees : {100, 200}) {
    for (const int depth : {0, 4, 8}) out.push_back(ForestOf(kind == "extra", trees, depth));
  }
  return out;
}

learn::Table YeungTable(std::span<const Row> rows, bool run) {
  learn::Table table;
  table.features = YeungFeatureNames(run);
  for (const Row& row : rows) {
    // A row that was not measured keeps its place; it is never learnt from.
    const double percent = 100 * row.measured[Index(Figure::kBusy)].value_or(0);
    table.Add(YeungFeaturesOf(row.query, run), percent, row.family);
  }
  return table;
}

core::Result<learn::Regressor> Learn(const learn::Table& table, std::string_view kind,
                                     bool search) {
  const std::vector<LearnerSpec> specs = SpecsOf(kind);
  if (!search) return learn::Fit(specs.front(), table);
  const auto choice =
      learn::GridSearch(specs, table, learn::RandomFolds(table.rows(), kInnerFolds, 1));
  RETURN_IF_ERROR(choice);
  return learn::Fit(specs[choice->best], table);
}

}  // namespace

std::span<const std::string_view> YeungLearners() { return kYeungLearners; }

bool IsYeungLearner(std::string_view learner) {
  return std::find(kYeungLearners.begin(), kYeungLearners.end(), learner) != kYeungLearners.end();
}

std::vector<std::string> YeungFeatureNames(bool run) {
  std::vector<std::string> names = {"flops", "input_size", "batch", "params"};
  for (const LayerType& type : kLayerTypes) names.push_back(fmt::format("{}_layers", type.name));
  if (run) {
    names.emplace_back("half");
    names.emplace_back("tf32");
    names.emplace_back("workers");
  }
  return names;
}

std::vector<double> YeungFeaturesOf(const Query& query, bool run) {
  const graph::Graph& graph = *query.graph;
  const Base base = BaseOf(query);
  double input = 0;
  for (const graph::TensorId id : graph.inputs) {
    input += Elements(graph.tensors[static_cast<std::size_t>(id)]);
  }
  std::vector<double> values = {2 * base.cost.macs, input, static_cast<double>(graph.batch),
                                base.cost.params};
  for (const LayerType& type : kLayerTypes) values.push_back(CountOf(graph, type));
  if (run) {
    values.push_back(query.run.mixed() ? 1 : 0);
    values.push_back(query.run.precision == graph::Precision::kTf32 ? 1 : 0);
    values.push_back(query.workers);
  }
  return values;
}

core::Result<HeldOut> HoldOutYeung(std::span<const Row> rows, std::span<const learn::Split> splits,
                                   const YeungOptions& options) {
  if (!IsYeungLearner(options.learner)) {
    const std::vector<std::string> known(kYeungLearners.begin(), kYeungLearners.end());
    return core::UsageError("there is no learner '{}'; there are {}{}", options.learner,
                            fmt::join(known, ", "), core::DidYouMean(options.learner, known));
  }
  const bool run = options.learner.ends_with(kRunSuffix);
  const learn::Table table = YeungTable(rows, run);
  HeldOut out;
  out.of.resize(rows.size());
  std::size_t done = 0;
  for (const learn::Split& split : splits) {
    std::vector<std::size_t> measured;
    std::copy_if(split.train.begin(), split.train.end(), std::back_inserter(measured),
                 [&](std::size_t i) { return rows[i].measured[Index(Figure::kBusy)].has_value(); });
    if (measured.size() < kFewestRows) {
      return core::UsageError(
          "{} workloads with a measured utilisation are too few to learn from; give at least {}",
          measured.size(), kFewestRows);
    }
    const auto learnt = Learn(table.Subset(measured), KindOf(options.learner), options.search);
    RETURN_IF_ERROR(learnt);
    for (const std::size_t i : split.test) {
      Figures figures;
      figures[Index(Figure::kBusy)] = std::clamp(learnt->Predict(table.Row(i)), 0.0, 100.0) / 100;
      out.of[i] = figures;
    }
    if (options.progress) options.progress(++done, splits.size());
  }
  return out;
}

}  // namespace sharewell::predict
