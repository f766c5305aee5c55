#include "predict/retrain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/numbers/statistics.h"
#include "core/result.h"
#include "core/text/words.h"
#include "predict/features.h"
#include "predict/repeats.h"

namespace sharewell::predict {

namespace {

using Verdict = FigureJudgement::Verdict;

constexpr double kMostError = 1;       // that one workload adds: a lie must not outweigh the others
constexpr double kFar = 4;             // deviations from the middle at which a target is pulled in
constexpr double kLeastFar = 0.3;      // likewise, at least
constexpr double kNormalMad = 1.4826;  // deviations in a median of absolute differences
constexpr std::size_t kFewestTargets = 8;
constexpr std::size_t kMostKnownAdded = 2000;
// The share of a figure that erring more must reach before somebody is warned of it.
constexpr double kDrifts = 1.5, kLeastDrift = 0.05;
constexpr std::size_t kFewestDrifting = 15;

// The newest `most`.
std::vector<Row> Newest(std::span<const Row> runs, std::size_t most) {
  std::vector<Row> rows = MergeRepeats(runs);
  if (rows.size() > most) rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(most));
  return rows;
}

// Of every workload what a predictor says, once: predictions take longer than all else here.
std::vector<Prediction> Predictions(const Predictor& predictor, std::span<const Row> rows) {
  std::vector<Prediction> out;
  out.reserve(rows.size());
  for (const Row& row : rows) out.push_back(predictor.Predict(row.query));
  return out;
}

// Measured less predicted, on the figure's scale.
std::optional<double> Residual(const Row& row, const Prediction& prediction, Figure figure) {
  const auto& measured = row.measured[Index(figure)];
  if (!measured || !std::isfinite(*measured)) return std::nullopt;
  return ToScale(figure, *measured) - ToScale(figure, prediction[figure].median);
}

double Capped(double residual) { return std::min(std::abs(residual), kMostError); }

// Whether b errs less than a: by how much on the mean, and how sure that is.
struct Gain {
  double mean = 0, error = 0;
  bool Sure(double deviations) const { return mean > 0 && mean >= deviations * error; }
};
Gain GainOf(std::span<const double> a, std::span<const double> b) {
  Gain gain;
  const auto n = static_cast<double>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) gain.mean += (a[i] - b[i]) / n;
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = a[i] - b[i] - gain.mean;
    squares += off * off;
  }
  if (n > 1) gain.error = std::sqrt(squares / (n - 1) / n);
  return gain;
}

double MeanOf(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

std::string Percent(double error) { return fmt::format("{:.1f} %", 100 * std::expm1(error)); }

// Smooth, and steps: as what the shipped one learnt of times.
learn::LearnerSpec LocalSpec() {
  return {learn::MeanOptions{{{learn::BoostingOptions{.rounds = 150,
                                                      .depth = 3,
                                                      .eta = 0.06,
                                                      .lambda = 3,
                                                      .min_child_weight = 3,
                                                      .subsample = 0.7,
                                                      .colsample = 0.4,
                                                      .bags = 1}},
                              {learn::GaussianOptions{}}}}};
}

}  // namespace

std::string_view NameOf(FigureJudgement::Verdict verdict) {
  switch (verdict) {
    case Verdict::kTaken:
      return "taken";
    case Verdict::kReverted:
      return "reverted";
    case Verdict::kKept:
      break;
  }
  return "kept";
}

// Fills predictors, as Trainer does.
class Retrainer {
 public:
  Retrainer(const Predictor& shipped, const Predictor& in_use, std::span<const Row> runs,
            const RetrainOptions& options)
      : shipped_(shipped), in_use_(in_use), options_(options) {
    const auto held = static_cast<std::size_t>(static_cast<double>(runs.size()) * options.held_out);
    const auto learnt = runs.first(runs.size() - held);
    learn_ = Newest(learnt, options.most_workloads);
    judge_ = Newest(runs.last(held), options.most_workloads);
    out_.runs = learnt.size();
    out_.held_out = held;
    out_.workloads = learn_.size();
  }

  core::Result<Retrained> Run() {
    said_ = Predictions(shipped_, learn_);
    shipped_said_ = Predictions(shipped_, judge_);
    in_use_said_ = Predictions(in_use_, judge_);
    Predictor fresh = in_use_;
    bool changed = false;
    for (std::size_t f = 0; f < kFigures; ++f) {
      if (options_.go_on && !options_.go_on()) {
        return core::FailedError("the training was stopped before it was done");
      }
      const auto figure = static_cast<Figure>(f);
      if (std::find(options_.leave.begin(), options_.leave.end(), figure) != options_.leave.end()) {
        out_.figures[f].why = "it is not learnt from several users' runs";
        continue;
      }
      auto local = Learn(figure);
      RETURN_IF_ERROR(local);
      std::vector<learn::Residual> left;
      FigureJudgement& judgement = out_.figures[f];
      Judge(figure, *local, judgement, left);
      if (judgement.verdict == Verdict::kKept) continue;
      changed = true;
      if (judgement.verdict == Verdict::kReverted) {
        fresh.learned_[f] = shipped_.learned_[f];
        continue;
      }
      fresh.learned_[f].local = std::move(*local);
      auto interval = learn::Calibrate(left, {.by_family = false});
      if (interval) fresh.learned_[f].interval = std::move(*interval);
    }
    if (changed) {
      Remember(fresh);
      out_.predictor = std::move(fresh);
    }
    return std::move(out_);
  }

 private:
  // Absent: too few of the runs have the figure.
  core::Result<std::optional<learn::Regressor>> Learn(Figure figure) const {
    learn::Table table;
    table.features = FeatureNames(figure);
    std::vector<std::size_t> rows;
    std::vector<double> targets;
    for (std::size_t i = 0; i < learn_.size(); ++i) {
      const auto residual = Residual(learn_[i], said_[i], figure);
      if (!residual || !std::isfinite(*residual)) continue;
      rows.push_back(i);
      targets.push_back(*residual);
    }
    if (targets.size() < kFewestTargets) return std::nullopt;
    const double middle = *core::Quantile(targets, 0.5);
    std::vector<double> off;
    for (const double target : targets) off.push_back(std::abs(target - middle));
    const double far = std::max(kLeastFar, kFar * kNormalMad * *core::Quantile(off, 0.5));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Query& query = learn_[rows[i]].query;
      table.Add(FeaturesOf(figure, query, BaseOf(shipped_.Own(query)),
                           said_[rows[i]].unlearnt_busy_seconds),
                std::clamp(targets[i], middle - far, middle + far));
    }
    auto fitted = learn::Fit(LocalSpec(), table);
    RETURN_IF_ERROR(fitted);
    return std::optional(std::move(*fitted));
  }

  void Judge(Figure figure, const std::optional<learn::Regressor>& local, FigureJudgement& out,
             std::vector<learn::Residual>& left) const {
    std::vector<double> shipped, in_use, retrained;
    for (std::size_t i = 0; i < judge_.size(); ++i) {
      const Row& row = judge_[i];
      const auto residual = Residual(row, shipped_said_[i], figure);
      const auto now = Residual(row, in_use_said_[i], figure);
      if (!residual || !now) continue;
      shipped.push_back(Capped(*residual));
      in_use.push_back(Capped(*now));
      if (!local) continue;
      const double corrected =
          *residual - local->Predict(FeaturesOf(figure, row.query, BaseOf(shipped_.Own(row.query)),
                                                shipped_said_[i].unlearnt_busy_seconds));
      retrained.push_back(Capped(corrected));
      left.push_back({corrected, row.family});
    }
    out.workloads = shipped.size();
    if (shipped.size() < options_.least_judged || !local) {
      out.why = local ? fmt::format("only {} among the newest runs {} it",
                                    core::Count(shipped.size(), "workload"),
                                    shipped.size() == 1 ? "has" : "have")
                      : "too few runs have it";
      return;
    }
    out.shipped = MeanOf(shipped);
    out.in_use = MeanOf(in_use);
    out.retrained = MeanOf(retrained);
    const bool corrected = in_use_.learned_[Index(figure)].local.has_value();
    const bool worse = corrected && GainOf(in_use, shipped).Sure(options_.sure);
    const std::vector<double>& best = worse || *out.shipped < *out.in_use ? shipped : in_use;
    const Gain gain = GainOf(best, retrained);
    if (gain.Sure(options_.sure) && gain.mean >= options_.least_gain * MeanOf(best)) {
      out.verdict = Verdict::kTaken;
      out.why = fmt::format("it errs by {} where {} was before", Percent(*out.retrained),
                            Percent(MeanOf(best)));
    } else if (worse) {
      out.verdict = Verdict::kReverted;
      out.why = fmt::format("what was learnt earlier errs by {}, the shipped one by {}",
                            Percent(*out.in_use), Percent(*out.shipped));
    } else if (gain.mean <= 0) {
      out.why = fmt::format("it would err by {}, not by {}", Percent(*out.retrained),
                            Percent(MeanOf(best)));
    } else {
      out.why = fmt::format("it errs by {} instead of {}, which may be chance",
                            Percent(*out.retrained), Percent(MeanOf(best)));
    }
  }

  // The workloads learnt from are no strangers any more, nor is their GPU model.
  void Remember(Predictor& fresh) const {
    std::map<std::string, std::size_t> met;
    for (std::size_t i = 0; i < learn_.size(); ++i) {
      const Row& row = learn_[i];
      ++met[row.query.gpu->name];
      Known known;
      known.workload = row.workload;
      known.batch = row.query.graph->batch;
      known.precision = row.precision_word;
      known.workers = row.query.workers;
      known.gpu = row.query.gpu->name;
      known.family = row.family;
      const Base base = BaseOf(shipped_.Own(row.query));
      const auto features = FeaturesOf(Figure::kBusySeconds, row.query, base, base.gpu);
      for (std::size_t c = 0; c < features.size() && c < fresh.means_.size(); ++c) {
        const double scaled = (features[c] - fresh.means_[c]) * fresh.factors_[c];
        known.place.push_back(std::round(std::clamp(scaled, -4.0, 4.0) * 1000) / 1000);
      }
      known.measured = row.measured;
      for (std::size_t f = 0; f < kFigures; ++f) known.held_out[f] = said_[i].figures[f].median;
      known.local = true;
      fresh.known_.push_back(std::move(known));
    }
    // What earlier trainings remembered makes room.
    const auto local = static_cast<std::size_t>(std::count_if(
        fresh.known_.begin(), fresh.known_.end(), [](const Known& k) { return k.local; }));
    std::size_t drop = local > kMostKnownAdded ? local - kMostKnownAdded : 0;
    std::erase_if(fresh.known_, [&](const Known& k) { return k.local && drop > 0 && drop-- > 0; });
    for (const auto& [gpu, workloads] : met) {
      const bool known =
          std::find(fresh.gpus_.begin(), fresh.gpus_.end(), gpu) != fresh.gpus_.end();
      if (!known && workloads >= kFewestTargets) fresh.gpus_.push_back(gpu);
    }
    std::sort(fresh.gpus_.begin(), fresh.gpus_.end());
  }

  const Predictor& shipped_;
  const Predictor& in_use_;
  const RetrainOptions& options_;
  std::vector<Row> learn_, judge_;
  std::vector<Prediction> said_;                        // by the shipped one, of learn_
  std::vector<Prediction> shipped_said_, in_use_said_;  // of judge_
  Retrained out_;
};

core::Result<Retrained> Retrain(const Predictor& shipped, const Predictor& in_use,
                                std::span<const Row> runs, const RetrainOptions& options) {
  if (runs.size() < options.least_runs) {
    return core::UsageError("{} are too few to learn from; at least {} are needed",
                            core::Count(runs.size(), "run"), options.least_runs);
  }
  if (shipped.AnyLocal()) {
    return core::UsageError(
        "the model to be corrected was corrected by runs before; give the one that it was made "
        "from");
  }
  return Retrainer(shipped, in_use, runs, options).Run();
}

std::optional<double> ErrorOn(const Predictor& predictor, std::span<const Row> runs,
                              Figure figure) {
  std::vector<double> errors;
  for (const Row& row : runs) {
    if (!row.measured[Index(figure)]) continue;
    if (const auto left = Residual(row, predictor.Predict(row.query), figure)) {
      errors.push_back(Capped(*left));
    }
  }
  if (errors.empty()) return std::nullopt;
  return MeanOf(errors);
}

Drift FindDrift(const Predictor& in_use, const std::array<std::optional<double>, kFigures>& judged,
                std::span<const Row> newest) {
  Drift out;
  const std::vector<Row> rows = MergeRepeats(newest);
  const std::vector<Prediction> said = Predictions(in_use, rows);
  for (std::size_t f = 0; f < kFigures; ++f) {
    const auto figure = static_cast<Figure>(f);
    std::vector<double> errors;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (const auto left = Residual(rows[i], said[i], figure)) {
        errors.push_back(Capped(*left));
      }
    }
    if (!judged[f] || errors.size() < kFewestDrifting) continue;
    const double now = MeanOf(errors);
    if (now < kDrifts * *judged[f] || now < *judged[f] + kLeastDrift) continue;
    out.figures.push_back(figure);
    out.words += fmt::format("{}{} by {} (judged: {})", out.words.empty() ? "" : ", ",
                             NameOf(figure), Percent(now), Percent(*judged[f]));
  }
  if (!out.words.empty()) {
    out.words = fmt::format(
        "predictions drift: over the last {} they err in {}; the machine or its jobs have changed",
        core::Count(newest.size(), "run"), out.words);
  }
  return out;
}

}  // namespace sharewell::predict
