// How far the interference model is from the groups of three that were measured, and how far the
// rule of thumb is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "advice/measured_groups.h"

namespace sharewell::research {
namespace {

TEST(Triples, TheModelIsNearerThanTheRuleOfThumb) {
  const auto measured = advice::BuiltinColocations();
  ASSERT_TRUE(measured) << measured.error().message;
  double error = 0, bias = 0, plain = 0;
  int count = 0;
  for (const predict::Colocation& group : predict::Averaged(measured->groups)) {
    if (group.residents.size() != 3) continue;
    double busy = 0;
    for (const predict::Resident& resident : group.residents) busy += resident.demand.busy;
    for (std::size_t k = 0; k < 3; ++k) {
      const double speed = predict::ModelledSpeed(group.residents, k);
      const double was = std::min(group.speeds[k], 1.0);
      error += std::abs(speed - was);
      bias += speed - was;
      plain += std::abs(std::min(1.0, 1 / busy) - was);
      ++count;
    }
  }
  ASSERT_GE(count, 78) << "the 26 triples of data/h200/triples.csv, and more";
  std::printf("%d speeds, mean absolute error %.4f, bias %+.4f, rule of thumb %.4f\n", count,
              error / count, bias / count, plain / count);
  RecordProperty("mean_absolute_error", std::to_string(error / count));
  EXPECT_LE(error / count, 0.085);
  EXPECT_NEAR(bias / count, 0, 0.03);
  EXPECT_GT(plain / count, 1.5 * error / count) << "min(1, 1 / sum of busy)";
}

}  // namespace
}  // namespace sharewell::research
