// A server's own history and queue, played under other policies.
#include "simulation/replay/whatif.h"

#include <gmock/gmock.h>

#include "simulation/replay/test_records.h"

namespace sharewell::simulation {
namespace {

using core::Phase;
using testing::Contains;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Optional;

// Four small jobs submitted together, and run one after the other for 100 s each.
std::vector<core::JobRecord> OneAfterTheOther() {
  std::vector<core::JobRecord> records;
  for (int i = 0; i < 4; ++i) {
    records.push_back(Ended(RecordOf(i + 1, 0, 0.3), i * 100, i * 100 + 100));
  }
  return records;
}

TEST(WhatIf, SharingWouldHaveEndedSooner) {
  const auto records = OneAfterTheOther();
  const std::string policies[] = {"slot", "sharewell"};
  const auto result = WhatIf(PointersTo(records), OneGpu(), {}, policies, {.now = At(500)});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->policies.size(), 2U);
  const WhatIfRow& slot = result->policies[0];
  const WhatIfRow& sharewell = result->policies[1];
  EXPECT_EQ(result->jobs, 4U);
  EXPECT_EQ(slot.finished, 4U);
  // The slot policy is what this server did.
  ASSERT_TRUE(result->really);
  EXPECT_THAT(result->really->makespan, Optional(DoubleNear(400, 1e-6)));
  EXPECT_THAT(slot.makespan, Optional(DoubleNear(400, 1)));
  EXPECT_THAT(slot.jct_mean, Optional(DoubleNear(*result->really->jct_mean, 1)));
  EXPECT_THAT(slot.queueing_mean, Optional(DoubleNear(*result->really->queueing_mean, 1)));
  EXPECT_THAT(slot.busy, Optional(DoubleNear(*result->really->busy, 0.01)));
  EXPECT_LT(*sharewell.makespan, 300);
  EXPECT_LT(*sharewell.jct_mean, *slot.jct_mean);
  EXPECT_GT(*sharewell.slowdown_mean, 1);
  EXPECT_LE(*sharewell.slowdown_mean, 1.3);
}

TEST(WhatIf, TellsDistributionsAndWhoGains) {
  auto records = OneAfterTheOther();
  records[3].user.name = "bo";
  const std::string policies[] = {"slot", "sharewell"};
  std::vector<std::size_t> played;
  const WhatIfOptions options{
      .now = At(500), .progress = [&](std::size_t policy, std::size_t done, std::size_t of) {
        if (played.empty() || played.back() != policy) {
          played.push_back(policy);
        }
        EXPECT_LE(done, of);
        EXPECT_EQ(of, 4U);
      }};
  const auto result = WhatIf(PointersTo(records), OneGpu(), {}, policies, options);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(played, testing::ElementsAre(0, 1));
  using testing::ElementsAre;
  const auto near = [](double value) { return DoubleNear(value, 1); };
  EXPECT_THAT(result->policies[0].jct_curve,
              ElementsAre(near(100), near(200), near(300), near(400)));
  EXPECT_THAT(result->policies[0].queueing_curve,
              ElementsAre(near(0), near(100), near(200), near(300)));
  EXPECT_THAT(result->really->jct_curve, ElementsAre(100, 200, 300, 400));
  EXPECT_EQ(result->policies[1].slowdown_curve.size(), 4U);
  ASSERT_EQ(result->changes.size(), 1U);
  const WhatIfChange& change = result->changes[0];
  EXPECT_EQ(change.change.policy, "sharewell");
  EXPECT_EQ(change.change.sooner + change.change.later + change.change.same, 4U);
  ASSERT_FALSE(change.gains.empty());
  EXPECT_EQ(change.gains[0].number, 4) << "it waited longest";
  EXPECT_EQ(change.gains[0].user, "bo");
  ASSERT_EQ(result->users.size(), 2U);
  EXPECT_EQ(result->users[0].user, "ann");
  ASSERT_EQ(result->users[0].jct_mean.size(), 3U) << "two policies, and what happened";
  EXPECT_THAT(result->users[0].jct_mean[2], Optional(DoubleNear(200, 1e-9)));
}

TEST(WhatIf, APairThatWasSeenToShareBadlyIsPlayedSo) {
  const auto records = OneAfterTheOther();
  std::vector<core::SharedRun> shared;
  for (const auto& a : records) {
    for (const auto& b : records) {
      if (a.number < b.number) {
        shared.push_back({"A", core::WorkloadKey(a.asked), core::WorkloadKey(b.asked), 0.3, 0.3,
                          true, 0, 1, 1, a.user.name, b.user.name, core::Seconds(12)});
      }
    }
  }
  const std::string policies[] = {"sharewell"};
  const auto result = WhatIf(PointersTo(records), OneGpu(), shared, policies, {.now = At(500)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->policies[0].makespan, Optional(DoubleNear(400, 1)));  // it leaves them apart
}

TEST(WhatIf, WhatIsNotKnownIsLeftOutAndSaid) {
  auto records = OneAfterTheOther();
  records[1].alone_time = {};  // its run time over its slowdown
  records[1].slowdown = 2;
  records.push_back(RecordOf(5, 10, 0.3, Phase::kWaiting));
  records.back().believed.duration.reset();
  records.push_back(RecordOf(6, 10, 0.3, Phase::kHeld));
  records.push_back(RecordOf(7, 10, 0.3, Phase::kCancelled));
  records.back().ended = At(11);
  records.push_back(RecordOf(8, 0, 0.3, Phase::kWaiting));  // believed to take 100 s
  records.push_back(Ended(RecordOf(9, 0, 0.3), 400, 500));
  records.back().asked.after = {4};
  records.back().believed.profile.busy.reset();
  const std::string policies[] = {"slot"};
  const auto result = WhatIf(PointersTo(records), OneGpu(), {}, policies, {.now = At(600)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->jobs, 6U);
  EXPECT_EQ(result->really->jobs, 5U);
  EXPECT_THAT(result->policies[0].makespan, Optional(DoubleNear(550, 1)));
  for (const char* words :
       {"left out: 1 job of unknown", "left out: 1 job that ended", "left out: 1 job on hold",
        "not over yet: 1 job", "after others: 1 job", "never measured: 1 job"}) {
    EXPECT_THAT(result->remarks, Contains(HasSubstr(words)));
  }
}

TEST(WhatIf, RefusesWhatItCannotPlay) {
  const auto records = OneAfterTheOther();
  const std::string unknown[] = {"sharewel"};
  EXPECT_THAT(WhatIf(PointersTo(records), OneGpu(), {}, unknown, {}).error().message,
              HasSubstr("sharewell"));
  EXPECT_THAT(WhatIf(PointersTo(records), OneGpu(), {}, {}, {}).error().message,
              HasSubstr("no policy"));
  EXPECT_THAT(WhatIf({}, OneGpu(), {}, unknown, {}).error().message, HasSubstr("nothing to play"));
}

}  // namespace
}  // namespace sharewell::simulation
