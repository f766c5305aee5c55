#include "predict/train.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/result.h"
#include "predict/features.h"
#include "predict/fit_rates.h"
#include "predict/learn/judge/grid_search.h"
#include "predict/learn/scaler.h"

namespace sharewell::predict {

using learn::LearnerSpec;

namespace {

// Small data: shallow trees, many of them, each seeing some of the rows and columns.
LearnerSpec Boosted() {
  return {learn::BoostingOptions{.rounds = 200,
                                 .depth = 3,
                                 .eta = 0.05,
                                 .lambda = 2,
                                 .min_child_weight = 2,
                                 .subsample = 0.7,
                                 .colsample = 0.4,
                                 .bags = 1}};
}

LearnerSpec SpecFor(const std::string& learner, Figure figure) {
  if (learner == "boosted") return Boosted();
  if (learner == "forest") return {learn::ForestOptions{.extra = false, .trees = 200}};
  if (learner == "extra") return {learn::ForestOptions{.extra = true, .trees = 150}};
  if (learner == "linear") return {learn::LinearOptions{.lambda = 20}};
  const LearnerSpec smooth{learn::GaussianOptions{}};
  if (learner == "gaussian") return smooth;
  // Times profit from a learner that is smooth; the others do not, and trees are small.
  const bool time = figure == Figure::kBusySeconds || figure == Figure::kStepSeconds;
  if (!time) return Boosted();
  return {learn::MeanOptions{{Boosted(), smooth}}};
}

// What follows from the two times: they, and their ratio.
bool FollowsTime(Figure figure) {
  return figure == Figure::kBusySeconds || figure == Figure::kStepSeconds ||
         figure == Figure::kBusy;
}

constexpr std::size_t kSearchFolds = 5;

bool Searches(const TrainOptions& options, Figure figure) {
  return options.search && options.learner != "mean" && FollowsTime(figure);
}

// Ours first: ties go to it.
core::Result<LearnerSpec> Chosen(const TrainOptions& options, Figure figure,
                                 const learn::Table& table) {
  const LearnerSpec ours = SpecFor(options.learner, figure);
  if (!Searches(options, figure)) return ours;
  const auto grid = learn::Grid(options.learner);
  RETURN_IF_ERROR(grid);
  std::vector<LearnerSpec> specs{ours};
  specs.insert(specs.end(), grid->begin(), grid->end());
  const std::set<std::string> families(table.groups.begin(), table.groups.end());
  const auto folds = families.size() > 1 ? learn::GroupFolds(table.groups, kSearchFolds)
                                         : learn::RandomFolds(table.rows(), kSearchFolds, 1);
  const auto choice = learn::GridSearch(specs, table, folds);
  RETURN_IF_ERROR(choice);
  return specs[choice->best];
}

// Half of what was learnt of times is believed: whole families held out, more hurts, and with
// familiar models less would (sharewell-lab evaluate).
constexpr double kTimeTrust = 0.5;

// What one row of times says beyond this is not believed, as a logarithm: its loop does things that
// its graph does not say.
constexpr double kMostBelieved = 0.4;

double Trust(Figure figure) { return FollowsTime(figure) ? kTimeTrust : 1; }

struct Prepared {
  const Row* row = nullptr;
  graph::Cost cost;
  graph::Memory memory;
  Base base;  // by the rates and operators of one fit
};

// The families that no row learnt from is of.
std::set<std::string> Strangers(std::span<const Prepared> rows,
                                std::span<const std::size_t> chosen) {
  std::set<std::string> out;
  for (const Prepared& p : rows) out.insert(p.row->family);
  for (const std::size_t i : chosen) out.erase(rows[i].row->family);
  return out;
}

Rates RatesFor(std::span<const Prepared> rows, std::span<const std::size_t> chosen,
               const OperatorTable* operators) {
  std::vector<StepWork> works;
  works.reserve(chosen.size());
  for (const std::size_t i : chosen) {
    Query query = rows[i].row->query;
    query.operators = operators;
    works.push_back(StepWorkOf(query, rows[i].cost));
    works.back().Merge();
  }
  std::vector<MeasuredStep> steps;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const Row& row = *rows[chosen[k]].row;
    steps.push_back({&works[k], row.measured[Index(Figure::kBusySeconds)].value_or(0),
                     row.measured[Index(Figure::kStepSeconds)].value_or(0), std::sqrt(row.weight)});
  }
  return FitRates(steps);
}

std::optional<double> Target(const Prepared& p, Figure figure) {
  const auto& measured = p.row->measured;
  const auto& value = measured[Index(figure)];
  if (!value) return std::nullopt;
  if (figure == Figure::kBusySeconds || figure == Figure::kMemory || figure == Figure::kReserved ||
      figure == Figure::kHostMemory) {
    return ToScale(figure, *value) -
           ToScale(figure, BaseFigure(figure, p.row->query, p.base, p.base.gpu, 1));
  }
  const auto& busy = measured[Index(Figure::kBusySeconds)];
  const auto& step = measured[Index(Figure::kStepSeconds)];
  if (!busy || !step) return std::nullopt;
  const double beside = figure == Figure::kBusy ? p.base.Step(*busy) : *step;
  return ToScale(figure, *value) -
         ToScale(figure, BaseFigure(figure, p.row->query, p.base, *busy, beside));
}

learn::Table TableOf(std::span<const Prepared> rows, std::span<const std::size_t> chosen,
                     Figure figure) {
  learn::Table table;
  table.features = FeatureNames(figure);
  std::vector<double> weights;
  for (const std::size_t i : chosen) {
    auto target = Target(rows[i], figure);
    if (!target) continue;
    if (FollowsTime(figure)) target = std::clamp(*target, -kMostBelieved, kMostBelieved);
    const double gpu_seconds =
        rows[i].row->measured[Index(Figure::kBusySeconds)].value_or(rows[i].base.gpu);
    table.Add(FeaturesOf(figure, rows[i].row->query, rows[i].base, gpu_seconds),
              *target * Trust(figure), rows[i].row->family);
    weights.push_back(rows[i].row->weight);
  }
  table.weights = std::move(weights);
  return table;
}

}  // namespace

// Fills predictors; the only one who may.
class Trainer {
 public:
  // Leaves in `rows` the bases that it was fitted on.
  static core::Result<Predictor> Fit(std::span<Prepared> rows, std::span<const std::size_t> chosen,
                                     const TrainOptions& options) {
    Predictor out;
    if (options.operators != nullptr) {
      out.operators_ =
          std::make_shared<OperatorTable>(options.operators->Without(Strangers(rows, chosen)));
    }
    if (options.refit) out.rates_ = RatesFor(rows, chosen, out.operators_.get());
    for (Prepared& p : rows) p.base = BaseOf(out.Own(p.row->query), p.cost, p.memory);
    for (std::size_t f = 0; f < kFigures && options.learner != "analytic"; ++f) {
      const auto figure = static_cast<Figure>(f);
      const learn::Table table = TableOf(rows, chosen, figure);
      if (table.rows() < kFewest) continue;
      const auto spec = Chosen(options, figure, table);
      RETURN_IF_ERROR(spec);
      auto regressor = learn::Fit(*spec, table);
      RETURN_IF_ERROR(regressor);
      out.learned_[f].residual = std::move(*regressor);
    }
    return out;
  }

  static void Calibrate(Predictor& predictor, std::span<const Row> rows, const HeldOut& held_out) {
    for (std::size_t f = 0; f < kFigures; ++f) {
      const auto figure = static_cast<Figure>(f);
      std::vector<learn::Residual> residuals;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!held_out.of[i]) continue;
        const auto& actual = rows[i].measured[f];
        const auto& predicted = (*held_out.of[i])[f];
        if (!actual || !predicted) continue;
        residuals.push_back(
            {ToScale(figure, *actual) - ToScale(figure, *predicted), rows[i].family});
      }
      if (residuals.empty()) continue;
      // A new model's family is not known, so the bounds are those of all families.
      auto interval = learn::Calibrate(residuals, {.by_family = false});
      if (interval) predictor.learned_[f].interval = std::move(*interval);
    }
  }

  static void Remember(Predictor& predictor, std::span<const Prepared> rows,
                       const HeldOut& held_out) {
    std::vector<std::vector<double>> places;
    for (const Prepared& p : rows) {
      places.push_back(FeaturesOf(Figure::kBusySeconds, p.row->query, p.base, p.base.gpu));
    }
    const std::size_t columns = places.empty() ? 0 : places[0].size();
    for (std::size_t c = 0; c < columns; ++c) {
      double sum = 0, squares = 0;
      for (const auto& place : places) {
        sum += place[c];
        squares += place[c] * place[c];
      }
      const double n = static_cast<double>(places.size());
      const double mean = sum / n;
      const double deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
      predictor.means_.push_back(mean);
      predictor.factors_.push_back(deviation > 1e-9 ? 1 / deviation : 0);
    }
    std::set<std::string> gpus;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = *rows[i].row;
      Known known;
      known.workload = row.workload;
      known.batch = row.query.graph->batch;
      known.precision = row.precision_word;
      known.workers = row.query.workers;
      known.gpu = row.query.gpu->name;
      known.family = row.family;
      for (std::size_t c = 0; c < columns; ++c) {
        const double scaled = (places[i][c] - predictor.means_[c]) * predictor.factors_[c];
        known.place.push_back(std::round(std::clamp(scaled, -4.0, 4.0) * 1000) / 1000);
      }
      known.measured = row.measured;
      if (held_out.of[i]) known.held_out = *held_out.of[i];
      gpus.insert(known.gpu);
      predictor.known_.push_back(std::move(known));
    }
    predictor.gpus_.assign(gpus.begin(), gpus.end());
    predictor.far_ = Far(predictor.known_);
  }

  static constexpr std::size_t kFewest = 8;  // rows that teach anything

 private:
  // Nine in ten workloads have one of another family nearer than this.
  static double Far(const std::vector<Known>& known) {
    std::vector<double> nearest;
    for (const Known& a : known) {
      double least = -1;
      for (const Known& b : known) {
        if (a.family == b.family) continue;
        double sum = 0;
        for (std::size_t i = 0; i < a.place.size(); ++i) {
          sum += (a.place[i] - b.place[i]) * (a.place[i] - b.place[i]);
        }
        if (least < 0 || sum < least) least = sum;
      }
      if (least > 0) nearest.push_back(std::sqrt(least));
    }
    if (nearest.empty()) return 1;
    std::sort(nearest.begin(), nearest.end());
    return nearest[nearest.size() * 9 / 10];
  }
};

namespace {

core::Result<std::vector<Prepared>> Prepare(std::span<const Row> rows) {
  if (rows.size() < Trainer::kFewest) {
    return core::UsageError("{} measured workloads are too few to learn from; give at least {}",
                            rows.size(), Trainer::kFewest);
  }
  std::vector<Prepared> prepared;
  prepared.reserve(rows.size());
  for (const Row& row : rows) {
    const graph::Flow flow = FlowOf(*row.query.graph, row.query.run);
    prepared.push_back({&row,
                        CostOf(*row.query.graph, flow, row.query.run),
                        MemoryOf(*row.query.graph, flow, row.query.run),
                        {}});
  }
  return prepared;
}

core::Result<HeldOut> HoldOutPrepared(std::span<Prepared> rows,
                                      std::span<const learn::Split> splits,
                                      const TrainOptions& options) {
  HeldOut out;
  out.of.resize(rows.size());
  std::size_t done = 0;
  for (const learn::Split& split : splits) {
    auto predictor = Trainer::Fit(rows, split.train, options);
    RETURN_IF_ERROR(predictor);
    for (const std::size_t i : split.test) {
      const Prediction prediction = predictor->Predict(rows[i].row->query);
      Figures figures;
      for (std::size_t f = 0; f < kFigures; ++f) figures[f] = prediction.figures[f].median;
      out.of[i] = figures;
    }
    if (options.progress) options.progress(++done, splits.size());
  }
  return out;
}

}  // namespace

core::Result<HeldOut> HoldOut(std::span<const Row> rows, std::span<const learn::Split> splits,
                              const TrainOptions& options) {
  auto prepared = Prepare(rows);
  RETURN_IF_ERROR(prepared);
  return HoldOutPrepared(*prepared, splits, options);
}

core::Result<Predictor> Train(std::span<const Row> rows, const TrainOptions& options) {
  auto prepared = Prepare(rows);
  RETURN_IF_ERROR(prepared);
  std::vector<std::string> families;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    families.push_back(rows[i].family);
    all.push_back(i);
  }
  const std::set<std::string> distinct(families.begin(), families.end());
  const std::vector<learn::Split> splits = distinct.size() > 1
                                               ? learn::GroupFolds(families, options.folds)
                                               : learn::RandomFolds(rows.size(), options.folds, 1);
  const auto held_out = HoldOutPrepared(*prepared, splits, options);
  RETURN_IF_ERROR(held_out);
  auto predictor = Trainer::Fit(*prepared, all, options);
  RETURN_IF_ERROR(predictor);
  Trainer::Calibrate(*predictor, rows, *held_out);
  Trainer::Remember(*predictor, *prepared, *held_out);
  return predictor;
}

}  // namespace sharewell::predict
