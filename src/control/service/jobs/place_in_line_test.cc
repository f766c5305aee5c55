#include "control/service/jobs/place_in_line.h"

#include <gmock/gmock.h>

#include "testing/builders.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using fixtures::ClusterBuilder;
using fixtures::SnapshotBuilder;
using ::testing::ElementsAre;
using Why = JobsAhead::Why;

class PlaceInLineTest : public ::testing::Test {
 protected:
  PlaceInLineTest() : s_(ClusterBuilder().Node(1).Build()) {
    for (const char* user : {"ann", "bob", "root"}) live_.UserIdOf(user);
    options_.interference = &model_;
  }
  std::optional<JobsAhead> Ahead(core::JobId id, const std::string& policy = "sharewell") {
    return line_.AheadOf(id, *fixtures::MakePolicy(policy, options_), *s_, live_, ++decided_);
  }

  SnapshotBuilder s_;
  LiveJobs live_;
  PlaceInLine line_;
  interference::Interference model_ = fixtures::WithoutResidual();
  policy::Options options_;
  std::int64_t decided_ = 0;
};

TEST_F(PlaceInLineTest, F18_SaysWhoIsAheadAndWhy) {
  s_.Running({.exclusive = true, .user = 0}, {0});
  s_.At(1000);
  const core::JobId first = s_.Waiting({.user = 0});
  const core::JobId mine = s_.Waiting({.submit = 1, .user = 0});
  for (int k = 0; k < 2; ++k) s_.Waiting({.submit = 500, .user = 1});
  s_.Waiting({.submit = 900, .priority = 5, .user = 2});
  const auto ahead = Ahead(mine);
  ASSERT_TRUE(ahead);
  EXPECT_EQ(ahead->jobs, 4U);
  EXPECT_THAT(ahead->groups, ElementsAre(JobsAhead::Group{"bob", Why::kUsedLess, 2},
                                         JobsAhead::Group{"ann", Why::kOrder, 1},
                                         JobsAhead::Group{"root", Why::kPriority, 1}));
  EXPECT_EQ(InWords(*ahead),
            "4 jobs go before it: 2 of bob (used less so far), 1 of ann (earlier in line), 1 of "
            "root (higher priority)");
  s_.At(1002);
  EXPECT_THAT(Ahead(mine, "slot")->groups, ElementsAre(JobsAhead::Group{"ann", Why::kOrder, 1},
                                                       JobsAhead::Group{"root", Why::kPriority, 1}))
      << "what users used counts under policies by user alone";
  EXPECT_EQ(Ahead(first, "slot")->jobs, 1U);
}

TEST_F(PlaceInLineTest, SaysThatAProjectIsBelowItsShare) {
  s_.Running({.exclusive = true, .user = 0}, {0});
  s_.At(1000);
  const core::JobId mine = s_.Waiting({.user = 0});
  core::Job other = s_->job(mine).job;
  other.id = core::JobId(s_->job_count());
  other.user = core::UserId(1);
  other.project = core::ProjectId(1);
  s_->Submit(other, s_->job(mine).estimate);
  options_.project_shares = {0.5, 0.5};
  for (const char* policy : {"slot", "sharewell"}) {
    const auto ahead = Ahead(mine, policy);
    ASSERT_TRUE(ahead);
    EXPECT_EQ(InWords(*ahead), "1 job goes before it: 1 of bob (project below its share)");
    s_.At(2000);
  }
}

TEST_F(PlaceInLineTest, WhoIsNotInLineHasNobodyAhead) {
  const core::JobId runs = s_.Running({.user = 0}, {0});
  EXPECT_FALSE(Ahead(runs));
  const core::JobId next = s_.Waiting({.user = 1});
  ASSERT_TRUE(Ahead(next)) << "it came since the line was read";
  EXPECT_EQ(InWords(*Ahead(next)), "no job goes before it");
}

}  // namespace
}  // namespace sharewell::control
