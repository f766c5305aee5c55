#include "research/reproduce/yeung_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "catalogue/builtin_measurements.h"
#include "core/numbers/statistics.h"
#include "predict/features.h"
#include "research/evaluate/measured_slowdowns.h"
#include "research/reproduce/experiment.h"

namespace sharewell::research::reproduce {
namespace {

constexpr double kWindow = 0.03;  // seconds: the paper's figure 3a
constexpr const char* kCorrelation = "correlation";

// Two image models of the paper at one batch, of few and of many FLOPs. Which two the paper draws
// is not in its text.
struct DrawnModel {
  const char* label;
  core::Workload workload;
};
const std::array<DrawnModel, 2>& DrawnModels() {
  static const std::array<DrawnModel, 2> models{
      {{"mobilenet_v2", {"tv:mobilenet_v2@224", 64, "bf16", 4}},
       {"vgg16", {"tv:vgg16@224", 64, "bf16", 4}}}};
  return models;
}

double KernelSeconds(const core::Profile& p) {
  return *p.busy / (*p.steps_per_second * *p.kernels);
}
double KernelsInWindow(const core::Profile& p) {
  return *p.kernels * *p.steps_per_second * kWindow;
}

void AddUtilisation(const predict::Predictor& predictor, std::vector<ReproduceRow>& rows) {
  // The logarithm of the FLOPs, in a scale of its own: ranks do not change by it.
  const auto names = predict::FeatureNames(predict::Figure::kBusySeconds);
  const auto macs =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), "macs") - names.begin());
  std::vector<double> flops, busy, flops_of, kernels, kernel_time;
  for (const core::Profile& p : catalogue::BuiltinMeasurements().profiles) {
    const predict::Known* known =
        predictor.Find(p.workload.name, p.workload.batch, p.workload.precision, p.workload.workers);
    if (known == nullptr || macs >= known->place.size() || !p.busy) continue;
    flops.push_back(known->place[macs]);
    busy.push_back(*p.busy);
    if (!p.kernels || !p.steps_per_second || *p.kernels <= 0) continue;
    flops_of.push_back(known->place[macs]);
    kernels.push_back(*p.kernels);
    kernel_time.push_back(KernelSeconds(p));
  }
  const std::string of = fmt::format("{} workloads alone", busy.size());
  rows.push_back({"figure_2a_utilisation_low", 0.2, core::Quantile(busy, 0.05), "ratio",
                  of + ", 5th percentile; the paper: about the least of its models"});
  rows.push_back({"figure_2a_utilisation_high", 0.9, core::Quantile(busy, 0.95), "ratio",
                  of + ", 95th percentile; the paper: about the most"});
  rows.push_back({"figure_2b_flops_utilisation",
                  {},
                  core::Spearman(flops, busy),
                  kCorrelation,
                  "rank correlation of FLOPs and utilisation; the paper draws it and gives none"});
  rows.push_back({"figure_3a_flops_kernels",
                  {},
                  core::Spearman(flops_of, kernels),
                  kCorrelation,
                  "rank correlation of FLOPs and kernels a step"});
  rows.push_back({"figure_3a_flops_kernel_time",
                  {},
                  core::Spearman(flops_of, kernel_time),
                  kCorrelation,
                  "rank correlation of FLOPs and the mean time of a kernel"});
}

void AddDrawnModels(std::vector<ReproduceRow>& rows) {
  const core::Measurements all = catalogue::BuiltinMeasurements();
  for (const DrawnModel& drawn : DrawnModels()) {
    const core::Profile* p = Measured(all, drawn.workload);
    const bool known = p != nullptr && p->busy && p->kernels && *p->kernels > 0;
    const std::string of = fmt::format("{} at batch {}", drawn.label, drawn.workload.batch);
    std::optional<double> count, time;
    if (known) {
      count = KernelsInWindow(*p);
      time = KernelSeconds(*p) * 1e6;
    }
    rows.push_back({fmt::format("figure_3a_kernels_in_30_ms_{}", drawn.label),
                    {},
                    count,
                    "count",
                    of + ": kernels of the graph times steps a second"});
    rows.push_back({fmt::format("figure_3a_kernel_time_{}", drawn.label),
                    {},
                    time,
                    "us",
                    of + ": mean, GPU busy time over kernels"});
  }
}

using Which = std::function<bool(const MeasuredSlowdown&)>;

std::vector<MeasuredSlowdown> Only(const std::vector<MeasuredSlowdown>& all, const Which& which) {
  std::vector<MeasuredSlowdown> out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out), which);
  return out;
}

std::vector<double> SlowdownsOf(const std::vector<MeasuredSlowdown>& points) {
  std::vector<double> out;
  for (const MeasuredSlowdown& point : points) out.push_back(point.slowdown);
  return out;
}

void AddSlowdowns(const std::vector<MeasuredSlowdown>& all, std::vector<ReproduceRow>& rows) {
  double combinations = 0;
  for (const MeasuredSlowdown& point : all) combinations += 1 / static_cast<double>(point.jobs);
  rows.push_back({"figure_5a_combinations", 276, combinations, "count",
                  "measurements of two or three jobs on one GPU, repeats included"});
  const std::pair<const char*, Which> parts[] = {
      {"", [](const auto&) { return true; }},
      {"_pairs", [](const auto& p) { return p.jobs == 2; }},
      {"_triples", [](const auto& p) { return p.jobs == 3; }},
      {"_all_sms", [](const auto& p) { return p.all_sms; }},
  };
  for (const auto& [suffix, which] : parts) {
    const auto correlation = CorrelationOf(Only(all, which));
    rows.push_back({fmt::format("figure_5a_utilisation_slowdown{}", suffix),
                    {},
                    correlation.pearson,
                    kCorrelation,
                    fmt::format("of the sum of utilisation alone and a job's slowdown, {} jobs; "
                                "rank correlation {:.2f}; the paper: positive",
                                correlation.jobs, correlation.spearman.value_or(0))});
  }
  const std::vector<double> slowdowns = SlowdownsOf(all);
  const auto typical = static_cast<double>(std::count_if(
      slowdowns.begin(), slowdowns.end(), [](double s) { return s >= 0.1 && s <= 2; }));
  rows.push_back({"figure_5a_slowed_10_to_200_percent",
                  {},
                  typical / static_cast<double>(slowdowns.size()),
                  "ratio",
                  "of the jobs; in the paper that is the typical range"});
  rows.push_back({"figure_5a_slowdown_median", {}, core::Quantile(slowdowns, 0.5), "ratio", ""});
  rows.push_back({"figure_5a_slowdown_p95", {}, core::Quantile(slowdowns, 0.95), "ratio", ""});
  const std::pair<const char*, Which> sums[] = {
      {"up_to_100", [](const auto& p) { return p.utilisation <= 1; }},
      {"100_to_150", [](const auto& p) { return p.utilisation > 1 && p.utilisation <= 1.5; }},
      {"above_150", [](const auto& p) { return p.utilisation > 1.5; }},
  };
  for (const auto& [suffix, which] : sums) {
    const auto some = Only(all, which);
    rows.push_back({fmt::format("figure_5a_slowdown_mean_{}", suffix),
                    {},
                    core::Mean(SlowdownsOf(some)),
                    "ratio",
                    fmt::format("where utilisation sums to that, in %; {} jobs", some.size())});
  }
}

}  // namespace

core::Result<void> AddYeungFigures(const predict::Predictor& predictor,
                                   std::vector<ReproduceRow>& rows) {
  const auto slowdowns = MeasuredSlowdowns();
  RETURN_IF_ERROR(slowdowns);
  AddUtilisation(predictor, rows);
  AddDrawnModels(rows);
  AddSlowdowns(*slowdowns, rows);
  return {};
}

}  // namespace sharewell::research::reproduce
