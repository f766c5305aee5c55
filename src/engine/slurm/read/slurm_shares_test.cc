// Users' weights from what `sshare` and `sacctmgr` print.
#include "engine/slurm/read/slurm_shares.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

SlurmJob Of(const char* user, const char* account, const char* qos = "") {
  SlurmJob job;
  job.user = user;
  job.account = account;
  job.qos = qos;
  return job;
}

TEST(SlurmShares, AreReadByUserAndAccount) {
  SlurmShares shares;
  ASSERT_TRUE(
      ParseFairShare("root||\nroot|root|1.000000\n physics||\n  physics|ann|0.250000\n"
                     "  physics|bob|0.500000\n  chemistry|ann|0.5\n",
                     shares));
  EXPECT_EQ(shares.fair.size(), 4U);
  EXPECT_EQ((shares.fair.at({"ann", "physics"})), 0.25);
  ASSERT_TRUE(ParseQos("normal|0\nhigh|100\n", shares));
  EXPECT_EQ(shares.qos.at("high"), 100);
}

TEST(SlurmShares, WhatCannotBeReadIsRefused) {
  SlurmShares shares;
  for (const char* bad : {"hello", "a|b|c", "a|b|-1", "a|b|nan", "a|b|1|2"}) {
    EXPECT_FALSE(ParseFairShare(bad, shares)) << bad;
  }
  for (const char* bad : {"normal", "normal|x", "|1", "normal|-1"}) {
    EXPECT_FALSE(ParseQos(bad, shares)) << bad;
  }
}

TEST(SlurmShares, WithoutThemAllWeighTheSame) {
  EXPECT_EQ(WeightOf(Of("ann", ""), SlurmShares()), 1);
}

TEST(SlurmShares, AHigherFactorAndABetterQosWeighMore) {
  SlurmShares shares;
  shares.fair = {{{"ann", "a"}, 0.8}, {{"bob", "a"}, 0.2}};
  shares.qos = {{"normal", 0}, {"high", 10}};
  const double ann = WeightOf(Of("ann", "a", "normal"), shares);
  const double bob = WeightOf(Of("bob", "a", "normal"), shares);
  EXPECT_NEAR(ann / bob, 4, 0.9) << "in steps";
  EXPECT_NEAR(WeightOf(Of("bob", "a", "high"), shares) / bob, 2, 0.5);
  const double other = WeightOf(Of("eve", "a", "normal"), shares);
  EXPECT_TRUE(bob < other && other < ann);
  shares.fair[{"bob", "a"}] = 0;
  EXPECT_GT(WeightOf(Of("bob", "a"), shares), 0);
  shares.fair[{"ann", "a"}] = 0.81;
  EXPECT_EQ(WeightOf(Of("ann", "a", "normal"), shares), ann) << "little changes are none";
}

}  // namespace
}  // namespace sharewell::engine
