#include "control/service/record/journal.h"

#include <gmock/gmock.h>

#include "control/service/test_parts.h"

namespace sharewell::control {
namespace {

using core::Phase;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    journal_.hub().Join(0, [this](const auto& event) { heard_.push_back(event->kind); });
    journal_.OnOver([this](std::int64_t number, Phase how) {
      closed_.emplace_back(number, how);
      state_.live.Remove(number);
      if (on_close_) on_close_();
    });
  }
  LiveJob& Job(std::int64_t number, Phase phase) {
    core::JobRecord record;
    record.number = number;
    record.phase = phase;
    return state_.live.Add(record);
  }

  core::Cluster cluster_;
  ServiceState state_{cluster_, {}};
  MemoryJobs store_;
  HandRunner runner_;
  std::vector<std::string> logged_, heard_;
  std::vector<std::pair<std::int64_t, Phase>> closed_;
  std::function<void()> on_close_;
  Journal journal_{state_, store_, runner_, SystemClock(),
                   [this](const std::string& line) { logged_.push_back(line); }};
};

TEST_F(JournalTest, WhatIsSaidIsAnEventOnceItIsStoredAndAloudItIsLoggedAtOnce) {
  journal_.Emit("job.started", 1, "job 1 runs");
  journal_.EmitAndLog("server.error", 0, "a plan is bad");
  EXPECT_THAT(logged_, ElementsAre("a plan is bad"));
  EXPECT_THAT(heard_, IsEmpty());
  ASSERT_TRUE(journal_.Commit());
  EXPECT_THAT(heard_, ElementsAre("job.started", "server.error"));
}

TEST_F(JournalTest, AJobIsClosedWhenItsEndIsStoredAndNotBefore) {
  journal_.Touch(Job(1, Phase::kFinished));
  journal_.Touch(Job(2, Phase::kRunning));
  journal_.outbox().AddEnded({1, 1});
  store_.full = true;
  EXPECT_FALSE(journal_.Commit());
  EXPECT_THAT(closed_, IsEmpty());
  EXPECT_THAT(runner_.forgotten, IsEmpty());
  store_.full = false;
  ASSERT_TRUE(journal_.Commit());
  EXPECT_THAT(closed_, ElementsAre(Pair(1, Phase::kFinished)));
  EXPECT_THAT(runner_.forgotten, UnorderedElementsAre(engine::RunId{1, 1}));
  EXPECT_EQ(journal_.tally().finished, 1);
}

TEST_F(JournalTest, WhatTheEndOfOneJobMakesOfOthersIsStoredToo) {
  LiveJob& after = Job(2, Phase::kHeld);
  on_close_ = [&] {
    on_close_ = {};
    after.record.phase = Phase::kCancelled;
    journal_.Touch(after);
  };
  journal_.Touch(Job(1, Phase::kFailed));
  ASSERT_TRUE(journal_.CommitAll());
  EXPECT_THAT(closed_, ElementsAre(Pair(1, Phase::kFailed), Pair(2, Phase::kCancelled)));
  EXPECT_EQ(store_.jobs.at(2).phase, Phase::kCancelled);
  EXPECT_FALSE(journal_.outbox().owes_records());
}

TEST_F(JournalTest, NumbersThatAreTakenAreNotGivenAgain) {
  EXPECT_EQ(journal_.next_number(), 1);
  journal_.NumberIsTaken(7);
  journal_.NumberIsTaken(3);
  EXPECT_EQ(journal_.next_number(), 8);
}

}  // namespace
}  // namespace sharewell::control
