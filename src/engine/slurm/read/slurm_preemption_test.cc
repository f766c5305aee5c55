#include "engine/slurm/read/slurm_preemption.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

TEST(SlurmPreemption, IsReadWhereSlurmPreemptsByQos) {
  EXPECT_TRUE(PreemptsByQos("PreemptMode             = REQUEUE\nPreemptType = preempt/qos\n"));
  EXPECT_FALSE(PreemptsByQos("PreemptType             = preempt/none\n"));
  EXPECT_FALSE(PreemptsByQos(""));
  const auto read = ParsePreempt("normal|\nlow|\nurgent|low,normal\n");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->lists.size(), 1U);
  EXPECT_THAT(read->lists.at("urgent"), testing::ElementsAre("low", "normal"));
  for (const char* bad : {"normal", "|low", "a|b|c", "sacctmgr: error: no answer\n"}) {
    EXPECT_FALSE(ParsePreempt(bad)) << bad;
  }
}

TEST(SlurmPreemption, BecomesRanks) {
  EXPECT_EQ(RankOf("normal", {}), PreemptRank());
  const SlurmPreemption two{{{"urgent", {"normal", "low"}}, {"normal", {"low"}}}};
  EXPECT_EQ(RankOf("urgent", two), (PreemptRank{2, true, true}));
  EXPECT_EQ(RankOf("normal", two), (PreemptRank{1, true, false}));
  EXPECT_EQ(RankOf("low", two), (PreemptRank{0, false, false}));
  EXPECT_EQ(RankOf("other", two), (PreemptRank{0, false, true}));
  EXPECT_TRUE(RanksSayIt(two));
  EXPECT_TRUE(RanksSayIt({}));
}

TEST(SlurmPreemption, ListsThatRanksCannotSayAreToldApart) {
  EXPECT_FALSE(RanksSayIt({{{"a", {"b"}}, {"c", {"d"}}}})) << "a may not preempt d";
  EXPECT_FALSE(RanksSayIt({{{"a", {"b"}}, {"b", {"a"}}}})) << "a circle";
}

}  // namespace
}  // namespace sharewell::engine
