#include "control/service/jobs/job_queue.h"

#include <gmock/gmock.h>

#include "control/service/test_parts.h"

namespace sharewell::control {
namespace {

using core::Phase;
using ::testing::HasSubstr;

class JobQueueTest : public ::testing::Test {
 protected:
  JobQueueTest() {
    advisor_.most = 1;
    journal_.OnOver([this](std::int64_t number, Phase how) { queue_.Close(number, how); });
  }
  LiveJob& Job(std::int64_t number, Phase phase, const std::vector<std::int64_t>& after = {}) {
    core::JobRecord record;
    record.number = number;
    record.phase = phase;
    record.user = kAnn;
    record.asked.after = after;
    LiveJob& job = state_.live.Add(record);
    if (phase == Phase::kHeld) admission_.AddDependent(job.record);
    return job;
  }
  void End(LiveJob& job, Phase how) {
    job.record.phase = how;
    journal_.Touch(job);
    ASSERT_TRUE(journal_.Commit());
  }

  core::Cluster cluster_;
  ServiceState state_{cluster_, {}};
  MemoryJobs store_;
  HandRunner runner_;
  PlainAdvisor advisor_{nullptr};
  engine::LiveEngine engine_{cluster_, {}, runner_};
  Journal journal_{state_, store_, runner_, SystemClock(), {}};
  Admission admission_{{}, state_.live, advisor_, state_.board, store_};
  JobQueue queue_{{.state = state_,
                   .journal = journal_,
                   .admission = admission_,
                   .advisor = advisor_,
                   .engine = engine_,
                   .manager = nullptr,
                   .limits = UsualLimits,
                   .alone_until_known = [this](const core::Account&) { return alone_; }}};
  bool alone_ = false;
};

TEST_F(JobQueueTest, WhoEntersGetsAnIdWithTheNextTurnAndLosesItWhenTakenOut) {
  LiveJob& job = Job(1, Phase::kWaiting);
  EXPECT_FALSE(queue_.SubmitEnqueued());
  queue_.Enqueue(1);
  queue_.Enqueue(1);  // let go twice
  EXPECT_FALSE(job.id.valid());
  EXPECT_TRUE(queue_.SubmitEnqueued());
  EXPECT_TRUE(job.id.valid());
  EXPECT_EQ(state_.live.ids_given(), 1u);
  queue_.TakeOut(job);
  EXPECT_FALSE(job.id.valid());
  EXPECT_FALSE(queue_.SubmitEnqueued());
}

TEST_F(JobQueueTest, APolicyKnowsWhoMayBeAGuestAndWhoWillHaveNone) {
  LiveJob& job = Job(1, Phase::kWaiting);
  core::Job plain = queue_.NextJob(job);
  EXPECT_FALSE(plain.alone_until_known);
  EXPECT_FALSE(plain.no_guests);
  EXPECT_EQ(plain.guest_oom, std::nullopt);
  alone_ = true;
  job.record.guest_oom = core::GiB(31);
  job.record.asked.no_guests = true;
  const core::Job told = queue_.NextJob(job);
  EXPECT_TRUE(told.alone_until_known);
  EXPECT_TRUE(told.no_guests);
  EXPECT_EQ(told.guest_oom, core::GiB(31));
  EXPECT_EQ(RequestOf(job.record).guest_oom, core::GiB(31));
  job.record.asked.no_guests = false;
  job.record.asked.latency_sensitive = true;
  EXPECT_TRUE(queue_.NextJob(job).no_guests) << "its kernels go first";
}

TEST_F(JobQueueTest, AKindThatBrokeAGpuIsAloneAndSaysWhyUntilOneHasFinishedWell) {
  LiveJob& waits = Job(2, Phase::kWaiting);
  state_.board.Put(waits.record);
  queue_.Enqueue(2);
  ASSERT_TRUE(queue_.SubmitEnqueued());
  const core::JobId before = waits.id;
  core::JobRecord other = waits.record;
  other.number = 1;
  ASSERT_TRUE(state_.breakers.TakeEnd(other, true));
  queue_.QueueKindAnew(other);
  ASSERT_TRUE(queue_.SubmitEnqueued());
  EXPECT_NE(waits.id, before) << "as another one";
  EXPECT_TRUE(queue_.NextJob(waits).exclusive);
  EXPECT_THAT(waits.record.note, HasSubstr("it is started alone: job 1, of the same command"));
  other.phase = Phase::kFinished;
  ASSERT_TRUE(state_.breakers.TakeEnd(other, false));
  queue_.QueueKindAnew(other);
  ASSERT_TRUE(queue_.SubmitEnqueued());
  EXPECT_FALSE(queue_.NextJob(waits).exclusive);
  EXPECT_EQ(waits.record.note, "");
}

TEST_F(JobQueueTest, WhatDoesNotFitAnyMoreIsHeldAndSaysWhy) {
  LiveJob& job = Job(1, Phase::kWaiting);
  job.record.asked.gpus = 2;
  queue_.EnqueueIfItFits(job);
  EXPECT_EQ(job.record.phase, Phase::kHeld);
  EXPECT_THAT(job.record.reason, HasSubstr("there are not so many GPUs"));
  EXPECT_FALSE(queue_.SubmitEnqueued());
}

TEST_F(JobQueueTest, TheEndOfAJobLetsThoseGoThatComeAfterIt) {
  LiveJob& first = Job(1, Phase::kRunning);
  const LiveJob& second = Job(2, Phase::kHeld, {1});
  End(first, Phase::kFinished);
  EXPECT_EQ(state_.live.Find(1), nullptr);
  EXPECT_EQ(second.record.phase, Phase::kWaiting);
  EXPECT_TRUE(queue_.SubmitEnqueued());
}

TEST_F(JobQueueTest, WhoComesAfterAJobThatFailedIsCancelled) {
  LiveJob& first = Job(1, Phase::kRunning);
  const LiveJob& second = Job(2, Phase::kHeld, {1});
  End(first, Phase::kFailed);
  EXPECT_EQ(second.record.phase, Phase::kCancelled);
  EXPECT_EQ(second.record.note, "job 1, which it was to come after, failed");
  EXPECT_FALSE(queue_.SubmitEnqueued());
}

}  // namespace
}  // namespace sharewell::control
