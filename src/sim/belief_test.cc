#include "sim/belief.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "testing/builders.h"

namespace sharewell::sim {
namespace {

using core::Estimate;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;

constexpr int kJobs = 4000;

const core::Cluster& TwoModels() {
  static const core::Cluster cluster =
      ClusterBuilder().Model("A").Model("B").Node(1).Node(1, 1).Build();
  return cluster;
}

// Small shares, so that none is cut at 1.
JobSpec Spec() {
  return {.seconds = 1000,
          .busy = 0.05,
          .sm = 0.03,
          .dram = 0.02,
          .gib = 2,
          .wants_cores = 3,
          .rates = {1, 0.5},
          .kernel_time = 1e-5,
          .host_gbps = 4,
          .pcie_gbps = 2,
          .watts = 100,
          .cpu_curve = {{1, 0.5}, {2, 1}}};
}

Estimate Believed(std::size_t job, const BeliefOptions& options) {
  return Believe(fixtures::JobOf(Spec(), job), fixtures::TruthOf(Spec(), TwoModels()), options);
}

using Figure = std::function<double(const Estimate&)>;

struct Spread {
  double mean = 0, sd = 0;
};

// Of the logarithm of the figure over its true value.
Spread LogErrors(const Figure& figure, double truth, const BeliefOptions& options) {
  double sum = 0, squares = 0;
  for (std::size_t j = 0; j < kJobs; ++j) {
    const double x = std::log(figure(Believed(j, options)) / truth);
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kJobs;
  return {mean, std::sqrt(squares / kJobs - mean * mean)};
}

const std::pair<const char*, Figure> kFigures[] = {
    {"busy", [](const Estimate& e) { return e.on[0].demand.busy / 0.05; }},
    {"sm", [](const Estimate& e) { return e.on[0].demand.sm / 0.03; }},
    {"dram", [](const Estimate& e) { return e.on[0].demand.dram / 0.02; }},
    {"GPU memory", [](const Estimate& e) { return e.on[0].demand.gpu_memory / core::GiB(2); }},
    {"PCIe", [](const Estimate& e) { return e.on[0].demand.pcie / core::GBps(2); }},
    {"cores", [](const Estimate& e) { return e.on[0].demand.cpu_cores / 3; }},
    {"host bandwidth",
     [](const Estimate& e) { return e.on[0].demand.host_bandwidth / core::GBps(4); }},
    {"power", [](const Estimate& e) { return e.on[0].demand.power / core::Watts(100); }},
    {"rate", [](const Estimate& e) { return e.on[1].rate / 0.5; }},
    {"contention", [](const Estimate& e) { return e.contention; }},
    {"kernel time",
     [](const Estimate& e) { return *e.on[0].demand.kernel_time / core::Seconds(1e-5); }},
};

TEST(Believe, WithoutErrorIsTheTruth) {
  const Estimate e = Believed(7, {0, 0, 1});
  const TrueJob truth = fixtures::TruthOf(Spec(), TwoModels());
  EXPECT_EQ(e.on, truth.on);
  EXPECT_EQ(e.cpu_curve, truth.cpu_curve);
  EXPECT_EQ(e.duration, truth.work);
  EXPECT_EQ(e.gpu_memory_upper, core::GiB(2));
  EXPECT_EQ(e.cores_upper, 1);
  EXPECT_EQ(e.contention, 1);
}

TEST(Believe, EveryFigureErrsByTheStatedLogDeviation) {
  for (const auto& [name, figure] : kFigures) {
    const Spread spread = LogErrors(figure, 1, {0.154, 0.3, 5});
    EXPECT_NEAR(spread.mean, 0, 0.01) << name;
    EXPECT_NEAR(spread.sd, 0.154, 0.006) << name;
  }
  const Spread duration =
      LogErrors([](const Estimate& e) { return e.duration->value; }, 1000, {0.154, 0.3, 5});
  EXPECT_NEAR(duration.mean, 0, 0.02);
  EXPECT_NEAR(duration.sd, 0.3, 0.012);
}

TEST(Believe, FiguresErrIndependently) {
  std::vector<std::vector<double>> errors;
  for (const auto& [name, figure] : kFigures) {
    auto& row = errors.emplace_back();
    for (std::size_t j = 0; j < kJobs; ++j)
      row.push_back(std::log(figure(Believed(j, {1, {}, 5}))));
  }
  for (std::size_t a = 0; a < errors.size(); ++a) {
    for (std::size_t b = a + 1; b < errors.size(); ++b) {
      double product = 0;
      for (std::size_t j = 0; j < kJobs; ++j) product += errors[a][j] * errors[b][j];
      // busy, sm and dram are cut at 1, which at this deviation is rare; five standard errors.
      EXPECT_NEAR(product / kJobs, 0, 5 / std::sqrt(kJobs))
          << kFigures[a].first << " and " << kFigures[b].first;
    }
  }
}

TEST(Believe, OneDrawAJobAndFigureWhateverTheModel) {
  for (std::size_t j = 0; j < 50; ++j) {
    const Estimate e = Believed(j, {0.3, 0.3, 9});
    EXPECT_EQ(e.on[0].demand, e.on[1].demand) << "the truth is the same on both, so is the error";
    EXPECT_EQ(e.on[0].rate, 1) << "the reference is the unit that rates are told in";
    EXPECT_DOUBLE_EQ(e.cpu_curve[1].first / 2, e.on[0].demand.cpu_cores / 3) << "cores are cores";
    EXPECT_EQ(e.cpu_curve[1].second, 1) << "a throughput is no figure of its own";
    EXPECT_EQ(e, Believed(j, {0.3, 0.3, 9})) << "asked again, the same";
  }
  EXPECT_NE(Believed(1, {0.3, 0.3, 9}), Believed(2, {0.3, 0.3, 9}));
  EXPECT_NE(Believed(1, {0.3, 0.3, 9}), Believed(1, {0.3, 0.3, 10}));
}

TEST(Believe, TheErrorOfOneFigureDoesNotMoveAnother) {
  const Estimate without = Believed(3, {0, 0.3, 9});
  const Estimate with = Believed(3, {0.5, 0.3, 9});
  EXPECT_EQ(with.duration, without.duration);
}

TEST(Believe, UpperBoundsHoldForNinetyFiveInAHundred) {
  int within = 0;
  for (std::size_t j = 0; j < kJobs; ++j) {
    within += Believed(j, {0.154, {}, 5}).gpu_memory_upper >= core::GiB(2) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(within) / kJobs, 0.95, 0.012);
}

// A workload that a predictor was asked about, and one that it was not.
BeliefOptions Predicted(double figures) {
  PredictedFigures off;
  off.busy = 1.5;
  off.sm = 0.5;
  off.dram = 1.25;
  off.gpu_memory = 0.75;
  off.pcie = 2;
  off.cores = 4;
  off.host_memory = 3;
  off.power = 0.9;
  off.gpu_memory_upper = 1.6;
  off.cores_upper = 1.3;
  BeliefOptions options{figures, 0.3, 5};
  options.predicted = {std::nullopt, off};
  return options;
}
Estimate BelievedOf(std::optional<std::size_t> workload, const BeliefOptions& options) {
  JobSpec spec = Spec();
  spec.workload = workload;
  return Believe(fixtures::JobOf(spec, 7), fixtures::TruthOf(spec, TwoModels()), options);
}

TEST(Believe, WhatAPredictorErredByStandsInsteadOfDraws) {
  const Estimate e = BelievedOf(1, Predicted(0.154));
  EXPECT_EQ(e.sources.busy, core::Source::kPredicted);
  for (const auto& on : e.on) {
    EXPECT_DOUBLE_EQ(on.demand.busy, 1.5 * 0.05);
    EXPECT_DOUBLE_EQ(on.demand.sm, 0.5 * 0.03);
    EXPECT_DOUBLE_EQ(on.demand.dram, 1.25 * 0.02);
    EXPECT_EQ(on.demand.gpu_memory, core::GiB(1.5));
    EXPECT_EQ(on.demand.pcie, core::GBps(4));
    EXPECT_DOUBLE_EQ(on.demand.cpu_cores, 12);
    EXPECT_EQ(on.demand.power, core::Watts(90));
  }
  EXPECT_DOUBLE_EQ(e.gpu_memory_upper.value, 1.6 * core::GiB(1.5).value)
      << "over what was predicted, not over the truth";
  EXPECT_EQ(e.cores_upper, 1.3);
  EXPECT_DOUBLE_EQ(e.cpu_curve[1].first, 8);
  EXPECT_EQ(e.contention, 1);
}

TEST(Believe, SharesThatWerePredictedAboveAllAreCut) {
  BeliefOptions options = Predicted(0.154);
  options.predicted[1]->busy = 100;
  EXPECT_EQ(BelievedOf(1, options).on[0].demand.busy, 1);
}

TEST(Believe, WhatNobodyPredictedIsDrawn) {
  const BeliefOptions drawn{0.154, 0.3, 5};
  EXPECT_EQ(BelievedOf(0, Predicted(0.154)), BelievedOf(0, drawn)) << "asked, and not known";
  EXPECT_EQ(BelievedOf(2, Predicted(0.154)), BelievedOf(2, drawn)) << "beyond the table";
  EXPECT_EQ(BelievedOf({}, Predicted(0.154)), BelievedOf({}, drawn)) << "of no workload";
  EXPECT_EQ(BelievedOf(1, Predicted(0.154)).duration, BelievedOf(1, drawn).duration)
      << "a predictor of figures says nothing of durations";
}

TEST(Believe, ExactMeansExactWhateverWasPredicted) {
  EXPECT_EQ(BelievedOf(1, Predicted(0)), BelievedOf(1, {0, 0.3, 5}));
}

TEST(Believe, DurationsMayBeUnknown) {
  EXPECT_FALSE(Believed(1, {0.154, std::nullopt, 1}).duration);
}

TEST(Measured, IsTheTruthOfTheFiguresAndStillABeliefOfTheDuration) {
  const core::Job job = fixtures::JobOf(Spec(), 4);
  const TrueJob truth = fixtures::TruthOf(Spec(), TwoModels());
  const BeliefOptions options{0.154, 0.3, 5};
  const Estimate measured = Measured(job, truth, options);
  EXPECT_EQ(measured.on, truth.on);
  EXPECT_EQ(measured.duration, Believe(job, truth, options).duration);
  EXPECT_EQ(measured.sources.busy, core::Source::kObserved);
  EXPECT_EQ(Believe(job, truth, options).sources.busy, core::Source::kPredicted);
}

TEST(Measured, IsTheTruthWhateverWasPredicted) {
  JobSpec spec = Spec();
  spec.workload = 1;
  const TrueJob truth = fixtures::TruthOf(spec, TwoModels());
  EXPECT_EQ(Measured(fixtures::JobOf(spec, 7), truth, Predicted(0.154)).on, truth.on);
}

}  // namespace
}  // namespace sharewell::sim
