#include "research/evaluate/measured_slowdowns.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sharewell::research {
namespace {

TEST(MeasuredSlowdowns, EveryJobOfEveryStoredGroupIsThere) {
  const auto all = MeasuredSlowdowns();
  ASSERT_TRUE(all) << all.error().message;
  std::size_t pairs = 0, triples = 0, shared = 0;
  for (const MeasuredSlowdown& one : *all) {
    pairs += one.jobs == 2 ? 1 : 0;
    triples += one.jobs == 3 ? 1 : 0;
    shared += one.all_sms ? 0 : 1;
    EXPECT_GT(one.utilisation, 0) << one.job;
    EXPECT_LE(one.utilisation, static_cast<double>(one.jobs) + 0.02) << one.job;
    EXPECT_GT(one.slowdown, -0.6) << one.job << " beside " << one.beside;
    EXPECT_FALSE(one.beside.empty());
  }
  EXPECT_EQ(pairs + triples, all->size());
  EXPECT_GE(pairs / 2, 57U + 54U + 51U + 15U);  // pairs, pairs-2, shares, packing; then groups
  EXPECT_GE(triples / 3, 52U);
  EXPECT_GT(shared, 100U);
  // packing.csv: Data2Vec, which has no profile, is faster beside ResNet-50 than alone.
  const auto d2v = std::find_if(all->begin(), all->end(), [](const MeasuredSlowdown& one) {
    return one.job == "d2v:32000 batch 8 bf16" && one.beside == "tv:resnet50@224 batch 64 bf16";
  });
  ASSERT_NE(d2v, all->end());
  EXPECT_NEAR(d2v->utilisation, 0.866 + 0.349, 1e-9);
  EXPECT_NEAR(d2v->slowdown, 24.5261 / 31.4624 - 1, 1e-9);
}

TEST(MeasuredSlowdowns, SlowdownGoesUpWithTheSumOfUtilisation) {
  const auto all = MeasuredSlowdowns();
  ASSERT_TRUE(all);
  const auto correlation = CorrelationOf(*all);
  EXPECT_EQ(correlation.jobs, all->size());
  EXPECT_GT(*correlation.pearson, 0.2);
  EXPECT_GT(*correlation.spearman, 0.4);
  EXPECT_FALSE(CorrelationOf({}).pearson);
}

}  // namespace
}  // namespace sharewell::research
