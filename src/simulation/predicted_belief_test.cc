#include "simulation/predicted_belief.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "advice/prediction.h"
#include "catalogue/builtin_measurements.h"

namespace sharewell::simulation {
namespace {

using predict::Figure;

const predict::Trained& Builtin() {
  static const predict::Trained trained = advice::BuiltinModel().value();
  return trained;
}

Scenario Of(const std::vector<core::Workload>& workloads) {
  Scenario scenario;
  scenario.workloads = workloads;
  return scenario;
}

std::vector<core::Workload> Measured() {
  std::vector<core::Workload> out;
  for (const core::Profile& profile : catalogue::FirstSitting().profiles) {
    out.push_back(profile.workload);
  }
  return out;
}

TEST(PredictedBelief, IsWhatWasPredictedUnseenOverWhatWasMeasured) {
  const core::Workload workload = Measured().at(3);
  const predict::Known* known =
      Builtin().predictor.Find(workload.name, workload.batch, workload.precision, workload.workers);
  ASSERT_NE(known, nullptr);
  const auto ratio = [&](Figure figure) {
    return *known->held_out[predict::Index(figure)] / *known->measured[predict::Index(figure)];
  };
  const auto belief = PredictedBelief(Of({workload}), Builtin().predictor);
  ASSERT_EQ(belief.size(), 1U);
  ASSERT_TRUE(belief[0]);
  EXPECT_EQ(belief[0]->busy, ratio(Figure::kBusy));
  EXPECT_EQ(belief[0]->gpu_memory, ratio(Figure::kMemory));
  EXPECT_EQ(belief[0]->cores, ratio(Figure::kCores));
  EXPECT_EQ(belief[0]->power, ratio(Figure::kPower));
  EXPECT_EQ(belief[0]->kernel_time, ratio(Figure::kBusySeconds)) << "kernels are counted";
  EXPECT_EQ(belief[0]->gpu_memory_upper, Builtin().predictor.UpperOverMedian(Figure::kMemory));
  EXPECT_GT(belief[0]->gpu_memory_upper, 1);
}

TEST(PredictedBelief, IsAbsentForWorkloadsNeverMet) {
  core::Workload other_batch = Measured().at(0);
  other_batch.batch += 1;
  const auto belief = PredictedBelief(
      Of({{"nobody's", 8, "fp32", 4}, Measured().at(0), other_batch}), Builtin().predictor);
  ASSERT_EQ(belief.size(), 3U);
  EXPECT_FALSE(belief[0]);
  EXPECT_TRUE(belief[1]);
  EXPECT_FALSE(belief[2]);
}

// A predictor that had seen the rows it is asked about would be right to the last digit, or nearly.
TEST(PredictedBelief, TruthDoesNotLeak) {
  const auto belief = PredictedBelief(Of(Measured()), Builtin().predictor);
  std::size_t met = 0;
  double memory = 0, busy = 0;
  for (const auto& off : belief) {
    if (!off) continue;
    ++met;
    EXPECT_NE(off->gpu_memory, 1);
    EXPECT_NE(off->cores, 1);
    EXPECT_NE(off->power, 1);
    memory += std::abs(std::log(off->gpu_memory));
    busy += std::abs(std::log(off->busy));
  }
  ASSERT_EQ(met, belief.size());
  EXPECT_GT(memory / static_cast<double>(met), 0.02);
  EXPECT_GT(busy / static_cast<double>(met), 0.05);
  EXPECT_LT(busy / static_cast<double>(met), 0.5) << "and it is a prediction, not noise";
}

// As a model file may have it: a row that was learnt from and never left out.
TEST(PredictedBelief, ARowThatWasNeverHeldOutTellsNothing) {
  std::string text = predict::Write({Builtin().predictor, std::nullopt});
  const std::string key = "\"held_out\":[";
  const std::size_t begin = text.find(key) + key.size();
  const std::size_t end = text.find(']', begin);
  std::string nothing;
  for (std::size_t f = 0; f < predict::kFigures; ++f) nothing += f == 0 ? "null" : ",null";
  const auto read = predict::ReadTrained(text.replace(begin, end - begin, nothing));
  ASSERT_TRUE(read) << read.error().message;
  const predict::Known& known = read->predictor.known().at(0);
  const core::Workload workload{known.workload, static_cast<int>(known.batch), known.precision,
                                known.workers};
  EXPECT_TRUE(PredictedBelief(Of({workload}), Builtin().predictor)[0]);
  EXPECT_FALSE(PredictedBelief(Of({workload}), read->predictor)[0]);
}

}  // namespace
}  // namespace sharewell::simulation
