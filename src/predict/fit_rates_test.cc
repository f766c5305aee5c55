#include "predict/fit_rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <set>

#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

// Steps of small networks as a world of these rates would measure them.
struct Measured {
  explicit Measured(const Rates& truth) {
    for (const Row& row : world.rows) {
      const graph::Flow flow = FlowOf(*row.query.graph, row.query.run);
      works.push_back(StepWorkOf(row.query, CostOf(*row.query.graph, flow, row.query.run)));
      const double busy = works.back().Gpu(truth);
      steps.push_back({&works.back(), busy, works.back().Step(truth, busy), 1});
    }
  }
  double OffBy(const Rates& rates) const {
    double sum = 0;
    for (const MeasuredStep& step : steps) {
      sum += std::abs(std::log(step.work->Gpu(rates) / step.busy)) +
             std::abs(std::log(step.work->Step(rates, step.busy) / step.step));
    }
    return sum / static_cast<double>(2 * steps.size());
  }

  TestWorld world;
  std::deque<StepWork> works;
  std::vector<MeasuredStep> steps;
};

TEST(FitRates, FindsWhatASlowerWorldMeasures) {
  Rates truth = PlausibleRates();
  for (ClassRates& of : truth.of) {
    of.half_bytes *= 0.6;
    of.full_bytes *= 0.6;
    of.kernel *= 1.5;
  }
  truth.host_forward *= 1.7;
  truth.host_step *= 1.4;
  const Measured measured(truth);
  const double before = measured.OffBy(PlausibleRates());
  const double after = measured.OffBy(FitRates(measured.steps));
  EXPECT_GT(before, 0.1);
  EXPECT_LT(after, 0.3 * before);
}

TEST(FitRates, OneOddRowDoesNotBendTheOthers) {
  Measured measured(PlausibleRates());
  measured.steps[3].busy *= 20;
  measured.steps[3].step *= 20;
  const Rates fitted = FitRates(measured.steps);
  for (std::size_t i = 0; i < measured.steps.size(); ++i) {
    if (i == 3) continue;
    EXPECT_NEAR(measured.works[i].Gpu(fitted) / measured.steps[i].busy, 1, 0.25) << i;
  }
}

TEST(FitRates, WithoutRowsTheyStayPlausible) {
  Rates none = FitRates({});
  Rates usual = PlausibleRates();
  const auto a = RatesOf(none), b = RatesOf(usual);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(*a[i].value / *b[i].value, 1, 2e-3) << a[i].name;
  }
}

TEST(Rates, EachHasANameOfItsOwnAndRoomAboveThePlausible) {
  Rates rates = PlausibleRates();
  std::set<std::string> names;
  for (const Rate& rate : RatesOf(rates)) {
    EXPECT_TRUE(names.insert(rate.name).second) << rate.name;
    EXPECT_GE(rate.most, *rate.value) << rate.name;
    EXPECT_GT(*rate.value, 0) << rate.name;
  }
}

TEST(StepWork, MergedItTakesTheSameTime) {
  const Measured measured(BuiltInRates());
  for (StepWork work : measured.works) {
    const double before = work.Gpu(BuiltInRates());
    const std::size_t ops = work.ops.size();
    work.Merge();
    EXPECT_LE(work.ops.size(), ops);
    EXPECT_NEAR(work.Gpu(BuiltInRates()) / before, 1, 1e-9);
  }
}

}  // namespace
}  // namespace sharewell::predict
