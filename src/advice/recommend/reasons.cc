#include "advice/recommend/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sharewell::advice::recommend {
namespace {

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string Cores(double cores) { return fmt::format("{:g}", cores); }

class Comparison {
 public:
  Comparison(std::span<const Cell> cells, const Chosen& chosen, Goal goal, const Prices& prices)
      : cells_(cells),
        at_(cells[chosen.at]),
        goal_(goal),
        prices_(prices),
        smoothed_(Smoothed(cells)),
        best_(MeritOf(chosen.best)) {}

  // Of the cells like the chosen one that have less of something: the most of it that is less, and
  // of those the best. `value` reads it, `alike` says what else must be the same.
  template <class Value, class Alike>
  std::optional<std::pair<double, double>> Less(Value value, Alike alike) const {
    std::optional<std::pair<double, double>> next;  // value, share of the best merit
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const Cell& cell = cells_[i];
      if (cell.measured() != at_.measured() || cell.setting.precision != at_.setting.precision ||
          !alike(cell)) {
        continue;
      }
      const std::optional<double> here = value(cell), mine = value(at_);
      if (!here || !mine || *here >= *mine) continue;
      const double share = MeritOf(i) / best_;
      if (!next || *here > next->first || (*here == next->first && share > next->second)) {
        next = {*here, share};
      }
    }
    return next;
  }

  // The best merit in another precision over the best here, and which it is.
  std::optional<std::pair<std::string, double>> OtherPrecision() const {
    std::optional<std::pair<std::string, double>> other;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].setting.precision == at_.setting.precision) continue;
      const double ratio = MeritOf(i) / best_;
      if (!other || ratio > other->second) other = {cells_[i].setting.precision, ratio};
    }
    return other;
  }

 private:
  double MeritOf(std::size_t i) const {
    const double merit = Merit(goal_, cells_[i], prices_).value_or(0);
    return cells_[i].samples.median > 0 ? merit * smoothed_[i] / cells_[i].samples.median : 0;
  }

  std::span<const Cell> cells_;
  const Cell& at_;
  Goal goal_;
  const Prices& prices_;
  std::vector<double> smoothed_;
  double best_;
};

std::string PrecisionReason(const Comparison& comparison, const Setting& setting, Goal goal) {
  const auto other = comparison.OtherPrecision();
  if (!other || !(other->second > 0)) return "the only one asked for, measured or learnt.";
  if (other->second < 1) {
    return fmt::format("{:.2f} times the {} of {}.", 1 / other->second, InWords(goal),
                       other->first);
  }
  return fmt::format("{} is predicted {:.1f} % better: less than the 5 % for which {} is given up.",
                     other->first, 100 * (other->second - 1), setting.precision);
}

// "the fewest that keep 97 % of the best; with 2 it keeps 61 %."
std::string LeastReason(const char* least, const char* at,
                        const std::optional<std::pair<double, double>>& less) {
  if (!less || !(less->second > 0)) return fmt::format("the {} of those tried.", least);
  const double percent = 100 * less->second;
  // 96.9 % is not 97 %, and must not be shown as it.
  const bool near = percent > 96.5 && percent < 97;
  return fmt::format("the {} to keep 97 % of the best; {} {:g} it is {:.{}f} %.", least, at,
                     less->first, near ? std::floor(10 * percent) / 10 : percent, near ? 1 : 0);
}

// Whether the second could be the better one, by the bounds of the goal's figure.
bool Overlap(const GpuAdvice& first, const GpuAdvice& second, Goal by) {
  const auto below = [](const std::optional<core::Estimated<>>& a,
                        const std::optional<core::Estimated<>>& b) {
    return a && b && a->KnownLow() && b->KnownHigh() && a->low < b->high;
  };
  switch (by) {
    case Goal::kThroughput:
      return below(first.cell->samples, second.cell->samples);
    case Goal::kCost:  // less is better
      return below(second.cost, first.cost);
    case Goal::kEnergy:
      return below(second.joules, first.joules);
    case Goal::kSharing:
      break;
  }
  return below(first.shared, second.shared);
}

}  // namespace

std::string_view InWords(Goal goal) {
  switch (goal) {
    case Goal::kThroughput:
      return "samples a second";
    case Goal::kCost:
      return "samples for the money";
    case Goal::kEnergy:
      return "samples a joule";
    case Goal::kSharing:
      break;
  }
  return "samples a second of two such jobs on one GPU";
}

std::vector<Choice> ReasonsFor(std::span<const Cell> cells, const Chosen& chosen, Goal goal,
                               const Prices& prices) {
  const Cell& cell = cells[chosen.at];
  const Setting& setting = cell.setting;
  const Comparison comparison(cells, chosen, goal, prices);
  const auto choice = [&](const char* what, std::string value, std::string why) {
    return Choice{what, std::move(value), cell.samples.source, cell.from, std::move(why)};
  };
  std::vector<Choice> out;
  out.push_back(choice("precision", setting.precision, PrecisionReason(comparison, setting, goal)));
  const auto batch = comparison.Less(
      [](const Cell& c) { return std::optional(static_cast<double>(c.setting.batch)); },
      [](const Cell&) { return true; });
  out.push_back(
      choice("batch", fmt::format("{}", setting.batch), LeastReason("smallest", "at", batch)));
  const auto same_batch = [&](const Cell& c) { return c.setting.batch == setting.batch; };
  // In a sweep, workers often go with the cores; in the grid they do not.
  const auto same_cores = [&](const Cell& c) {
    return same_batch(c) && (c.measured() || c.setting.cores == setting.cores);
  };
  const auto workers = comparison.Less(
      [](const Cell& c) { return std::optional(static_cast<double>(c.setting.workers)); },
      same_cores);
  out.push_back(choice("workers", fmt::format("{}", setting.workers),
                       LeastReason("fewest", "with", workers)));
  if (setting.cores) {
    const auto cores = comparison.Less([](const Cell& c) { return c.setting.cores; }, same_batch);
    out.push_back(choice("cores", Cores(*setting.cores), LeastReason("fewest", "on", cores)));
  } else if (cell.cores_used) {
    out.push_back(
        choice("cores", Cores(std::max(1.0, std::ceil(cell.cores_used->median))),
               fmt::format("it used {:.1f} when it was not limited.", cell.cores_used->median)));
  } else {
    out.push_back(choice("cores", "unknown",
                         "it was measured without a limit, and what it used is not known; "
                         "`sharewell sweep` with an axis cpus tells."));
  }
  return out;
}

Choice ReasonForGpu(std::span<const GpuAdvice> ranked, Goal goal, const Prices& prices) {
  const GpuAdvice& first = ranked.front();
  Choice out{"gpu", first.gpu, first.cell->samples.source, first.cell->from, ""};
  std::size_t fit = 0;
  for (const GpuAdvice& row : ranked) fit += row.cell ? 1 : 0;
  if (ranked.size() == 1) {
    out.why = "the only one asked for.";
    return out;
  }
  if (fit == 1) {
    out.why = fmt::format("the only one of {} for which an answer is known.", ranked.size());
    return out;
  }
  const Cell& second = *ranked[1].cell;
  // Without prices, models are in the order of their throughput.
  const bool priced = goal != Goal::kCost || prices.gpu.contains(first.gpu);
  const Goal by = priced ? goal : Goal::kThroughput;
  const auto mine = Merit(by, *first.cell, prices), next = Merit(by, second, prices);
  if (goal == Goal::kCost && priced && !prices.gpu.contains(ranked[1].gpu)) {
    out.why = "the cheapest of those with a price.";
    return out;
  }
  if (!mine || !next || !(*next > 0)) {
    out.why = fmt::format("the best of {} for {}.", fit, InWords(by));
    return out;
  }
  out.why = fmt::format("the most {} of {}; {:.2f} times those of {}, the next.", InWords(by), fit,
                        *mine / *next, ranked[1].gpu);
  if (Overlap(first, ranked[1], by)) {
    out.why += " The bounds of the two overlap, so that the order is not sure.";
  }
  return out;
}

Choice ReasonForSharing(const SharingAdvice& sharing, const Cell& cell) {
  Choice out{"share", sharing.advice, core::Source::kPredicted, "the co-location model", ""};
  if (!sharing.twice) {
    out.why = "nothing is known of what it needs beside others.";
    return out;
  }
  out.source = sharing.twice->source;
  const double each = sharing.twice->median;
  if (sharing.twice_fit && !*sharing.twice_fit) {
    out.why = "two such jobs do not fit into the GPU's memory.";
  } else {
    out.why = fmt::format(
        "two such jobs would each keep {} of their speed, {:.2f} times one job's "
        "work.",
        Percent(each), 2 * each);
  }
  if (sharing.advice != "no" && cell.setting.cores) {
    out.why += fmt::format(" Each needs {} cores of its own.", Cores(*cell.setting.cores));
  }
  if (sharing.neighbours > 0) {
    out.why += fmt::format(" Beside {} of {} measured workloads both keep {}.", sharing.good,
                           sharing.neighbours, Percent(kKeptBeside));
  }
  if (cell.measured() && out.source != core::Source::kObserved) out.why += " Predicted.";
  return out;
}

}  // namespace sharewell::advice::recommend
