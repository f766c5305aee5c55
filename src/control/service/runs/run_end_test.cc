#include "control/service/runs/run_end.h"

#include <gtest/gtest.h>

namespace sharewell::control {
namespace {

using core::Phase;
using engine::Outcome;

class RunEndTest : public ::testing::Test {
 protected:
  RunEndTest() {
    record_.number = 3;
    record_.attempt = 2;
    record_.phase = Phase::kRunning;
    record_.resumed = 1000;
    record_.asked.time_limit = core::Seconds(90);
  }
  void End(Outcome outcome, engine::RunEnd end = {}, int attempt = 2) {
    WriteEnd({{}, {3, attempt}, std::move(end), outcome}, 6000, record_);
  }
  core::JobRecord record_;
};

TEST_F(RunEndTest, AFinishedRunEndsItsJob) {
  End(Outcome::kFinished);
  EXPECT_EQ(record_.phase, Phase::kFinished);
  EXPECT_EQ(record_.ended, 6000);
  EXPECT_EQ(record_.run_time, core::Seconds(5)) << "by the wall, where nobody says better";
  EXPECT_EQ(record_.exit_code, 0);
  EXPECT_EQ(record_.note, "");
}

TEST_F(RunEndTest, AFailedOneSaysWhy) {
  End(Outcome::kFailed, {.exit_code = 137, .signal = 9, .ran = core::Seconds(4)});
  EXPECT_EQ(record_.phase, Phase::kFailed);
  EXPECT_EQ(record_.note, "ended by signal 9");
  EXPECT_EQ(record_.exit_code, 137);
  EXPECT_EQ(record_.run_time, core::Seconds(4));
  EXPECT_EQ(EndInWords({.timed_out = true}, record_), "its time limit (90 s) is over");
}

TEST_F(RunEndTest, WhoWasCancelledIsCancelledHoweverItEnds) {
  for (const Outcome how : {Outcome::kFailed, Outcome::kRequeued, Outcome::kOutOfMemory}) {
    record_.cancelled = core::cancelled::ByUser{"ann"};
    record_.phase = Phase::kStopping;
    record_.reason = "cancelled by ann";
    End(how, {.signal = 15});
    EXPECT_EQ(record_.phase, Phase::kCancelled);
    EXPECT_EQ(record_.note, "cancelled by ann");
  }
}

TEST_F(RunEndTest, BackInTheQueueItIsNotOver) {
  End(Outcome::kOutOfMemory, {.exit_code = 1});
  EXPECT_EQ(record_.phase, Phase::kWaiting);
  EXPECT_EQ(record_.ooms, 1);
  EXPECT_EQ(record_.ended, std::nullopt);
}

TEST_F(RunEndTest, AGuestsFirstOutOfMemoryIsNotCounted) {
  record_.guest_memory = core::GiB(31);
  End(Outcome::kOutOfMemory, {.exit_code = 1});
  EXPECT_EQ(record_.phase, Phase::kWaiting);
  EXPECT_EQ(record_.ooms, 0);
  EXPECT_EQ(record_.guest_oom, core::GiB(31));
  EXPECT_EQ(record_.note,
            "it ran out of the 31.0 GiB of GPU memory that it had as a guest and is tried again "
            "with more room");
  record_.phase = Phase::kRunning;
  record_.guest_memory = core::GiB(60);
  End(Outcome::kOutOfMemory, {.exit_code = 1});
  EXPECT_EQ(record_.ooms, 1) << "the second counts as an ordinary one";
  EXPECT_EQ(record_.guest_oom, core::GiB(31));
}

TEST_F(RunEndTest, F10_LostThreeTimesInARowItIsHeldWithTheReason) {
  for (int i = 1; i <= 2; ++i) {
    record_.phase = Phase::kRunning;
    End(Outcome::kRequeued, {.lost = true});
    EXPECT_EQ(record_.phase, Phase::kWaiting);
    EXPECT_EQ(record_.lost, i);
  }
  record_.phase = Phase::kStarting;
  End(Outcome::kRequeued, {.refused = true});  // says nothing of it
  EXPECT_EQ(record_.lost, 2);
  record_.phase = Phase::kRunning;
  End(Outcome::kRequeued, {.lost = true});
  EXPECT_EQ(record_.phase, Phase::kHeld);
  EXPECT_TRUE(record_.asked.held);
  EXPECT_NE(record_.reason.find("3 times in a row; `sharewell release 3` lets it try again"),
            std::string::npos)
      << record_.reason;
  record_.phase = Phase::kRunning;
  End(Outcome::kRequeued, {.stopped = true});
  EXPECT_EQ(record_.lost, 0) << "a run that ended otherwise";
}

TEST_F(RunEndTest, F12_AClockThatWasSetBackTakesNoRunTimeAway) {
  record_.resumed = 1'000'000;
  End(Outcome::kFinished);
  EXPECT_EQ(record_.run_time, core::Seconds(0));
}

TEST_F(RunEndTest, WhileAnEarlierAttemptLeavesTheJobIsNotBackInTheQueue) {
  record_.phase = Phase::kStarting;
  WriteEnd({{}, {3, 2}, {.exit_code = 143}, Outcome::kRequeued, true}, 6000, record_);
  EXPECT_EQ(record_.phase, Phase::kStopping) << "the next server looks for the run that leaves";
  EXPECT_EQ(record_.reason, "its last run is leaving; then it is queued again");
  core::JobRecord left = record_;
  WriteEnd({{}, {3, 1}, {.exit_code = 143}, Outcome::kRequeued, false}, 6000, left);
  EXPECT_EQ(left.phase, Phase::kWaiting);
  End(Outcome::kFinished, {}, 1);
  EXPECT_EQ(record_.phase, Phase::kFinished) << "it came to its own end before it was told to";
}

TEST_F(RunEndTest, TheEndOfAnEarlierAttemptIsNotThisOnes) {
  record_.phase = Phase::kStarting;  // a move: the place it left is empty now
  record_.resumed.reset();
  End(Outcome::kRequeued, {.exit_code = 143}, 1);
  EXPECT_EQ(record_.phase, Phase::kStarting);
  EXPECT_EQ(record_.exit_code, std::nullopt);
  EXPECT_EQ(record_.run_time, core::Seconds(0));
}

TEST_F(RunEndTest, WhoFellWithItsNeighboursRunsAloneNext) {
  engine::RunEnd end{.exit_code = 1};
  end.fall = engine::Fall{{}, {{12, 1}}, {}};
  End(Outcome::kRequeued, end);
  EXPECT_EQ(record_.phase, Phase::kWaiting);
  EXPECT_EQ(record_.ooms, 1) << "alone from now on";
  EXPECT_EQ(record_.lost, 0);
  EXPECT_EQ(
      record_.note,
      "the GPU broke under it and job 12: both failed within a moment, and whose doing it was "
      "is not known; it is tried once more, alone");
  EXPECT_EQ(record_.ended, std::nullopt);

  end.fall->with = {{12, 1}, {14, 3}, {15, 1}};
  end.fall->part = engine::Fall::Part::kCulprit;
  EXPECT_EQ(EndInWords(end, record_), "it broke the GPU under itself and jobs 12, 14 and 15");
  EXPECT_FALSE(record_.broke_gpu) << "so far nobody knows";
  // One that is not to be started again has failed, and is told why.
  record_.phase = Phase::kRunning;
  End(Outcome::kFailed, end);
  EXPECT_EQ(record_.phase, Phase::kFailed);
  EXPECT_EQ(record_.note, "it broke the GPU under itself and jobs 12, 14 and 15");
  EXPECT_TRUE(record_.broke_gpu);
}

TEST_F(RunEndTest, TheInnocentIsStartedAgainBesideOthersButNotForEver) {
  engine::RunEnd end{.exit_code = 1};
  end.fall = engine::Fall{engine::Fall::Part::kInnocent, {{12, 1}}, engine::RunId{12, 1}};
  for (int i = 0; i < 2; ++i) {
    record_.phase = Phase::kRunning;
    End(Outcome::kRequeued, end);
    EXPECT_EQ(record_.phase, Phase::kWaiting);
    EXPECT_EQ(record_.ooms, 0);
    EXPECT_EQ(record_.note, "its neighbour job 12 broke the GPU under both; it is started again");
  }
  record_.phase = Phase::kRunning;
  End(Outcome::kRequeued, end);
  EXPECT_EQ(record_.phase, Phase::kHeld);
}

}  // namespace
}  // namespace sharewell::control
