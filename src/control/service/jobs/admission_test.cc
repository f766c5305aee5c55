#include "control/service/jobs/admission.h"

#include <gmock/gmock.h>

#include "control/service/test_parts.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AdmissionTest : public ::testing::Test {
 protected:
  static core::Submission Job(std::vector<std::int64_t> after = {}) {
    core::Submission job;
    job.command = {"train"};
    job.after = std::move(after);
    return job;
  }
  auto Admit(std::vector<core::Submission> jobs, const core::Account& who = kAnn,
             std::int64_t first = 10) {
    return admission_.Admit(jobs, who, first, 5);
  }
  core::JobRecord Record(std::int64_t number, Phase phase, std::vector<std::int64_t> after = {}) {
    core::JobRecord record;
    record.number = number;
    record.user = kAnn;
    record.phase = phase;
    record.asked = Job(std::move(after));
    return record;
  }

  PlainAdvisor advisor_{fixtures::MakePolicy("slot", {})};
  MemoryJobs store_;
  LiveJobs live_;
  JobBoard board_;
  static core::Limits Few(const core::Account& who) {
    if (who.admin) return core::AdminLimits();
    core::Limits limits;
    limits.queued_jobs = 4;
    limits.queued_bytes = core::Bytes(1 << 20);
    limits.job_bytes = core::Bytes(1 << 19);
    if (who.name == "bob") {
      limits.gpus = 2;
      limits.job_time = core::Seconds(86400);
    }
    return limits;
  }
  Admission admission_{{.most_waiting = 6, .of = Few}, live_, advisor_, board_, store_};
};

TEST_F(AdmissionTest, NumbersTheRecordsOfASubmission) {
  const auto records = Admit({Job(), Job({10})});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ(records->at(0).number, 10);
  EXPECT_EQ(records->at(0).phase, Phase::kWaiting);
  EXPECT_EQ(records->at(0).submitted, 5);
  EXPECT_EQ(records->at(1).phase, Phase::kHeld);
  EXPECT_EQ(records->at(1).reason, "waits for job 10") << "of the same submission";
  EXPECT_EQ(live_.size(), 0U) << "it keeps nothing";
}

TEST_F(AdmissionTest, AllOrNone) {
  core::Submission too_big = Job();
  too_big.gpus = 99;
  EXPECT_FALSE(Admit({Job(), too_big}));
  EXPECT_FALSE(Admit({}));
}

TEST_F(AdmissionTest, CountsAgainstTheUserAndTheQueue) {
  for (std::int64_t number = 1; number <= 3; ++number) live_.Add(Record(number, Phase::kWaiting));
  EXPECT_TRUE(Admit({Job()}));
  const auto mine = Admit({Job(), Job()});
  ASSERT_FALSE(mine);
  EXPECT_EQ(mine.error().message,
            "ann has 3 jobs that are not over, and 2 more would be too many; the limit for one "
            "user is 4 (limits.queued_jobs): wait for some to end, or cancel some; an admin can "
            "raise limits.queued_jobs in sharewell.toml");
  EXPECT_TRUE(Admit({Job(), Job(), Job()}, kBob));
  const auto full = Admit({Job(), Job(), Job(), Job()}, kBob);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("the queue is full (3 jobs of all users)"));
}

TEST_F(AdmissionTest, F17_BytesOfOneJobAndOfAllAreBounded) {
  core::Submission long_one = Job();
  long_one.command.emplace_back((1 << 19) + 1, 'x');
  const auto one = Admit({long_one}, kBob);
  ASSERT_FALSE(one);
  EXPECT_THAT(one.error().message,
              HasSubstr("the limit for one user is 512 KiB (limits.job_bytes)"));
  EXPECT_THAT(one.error().message, HasSubstr("an admin can raise limits.job_bytes"));
  long_one.command.back().resize(500'000);
  EXPECT_TRUE(Admit({long_one, long_one}, kBob));
  const auto all = Admit({long_one, long_one, long_one}, kBob);
  ASSERT_FALSE(all);
  EXPECT_THAT(all.error().message, HasSubstr("is 1 MiB (limits.queued_bytes)"));
  EXPECT_TRUE(Admit({long_one, long_one, long_one}, kRoot)) << "admins have limits of their own";
}

TEST_F(AdmissionTest, F18_PositivePrioritiesAreForAdmins) {
  core::Submission first = Job();
  first.priority = 1;
  const auto refused = Admit({first});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("priority 1 is too high for ann"));
  EXPECT_THAT(refused.error().message, HasSubstr("an admin can raise limits.most_priority"));
  EXPECT_TRUE(Admit({first}, kRoot));
  first.priority = -5;
  EXPECT_TRUE(Admit({first}));
}

// The store is asked for each job once, for its phase alone, and not again by the next submission.
TEST_F(AdmissionTest, F16_AManyfoldAfterIsOneQuestion) {
  store_.jobs[3] = Record(3, Phase::kFinished);
  EXPECT_TRUE(Admit({Job(std::vector<std::int64_t>(1000, 3)), Job({3})}));
  EXPECT_EQ(store_.phases_asked, 1);
  EXPECT_TRUE(Admit({Job({3})}));
  EXPECT_EQ(store_.phases_asked, 1);
}

TEST_F(AdmissionTest, SaysWhatHoldsAJob) {
  live_.Add(Record(3, Phase::kRunning));
  EXPECT_EQ(admission_.HoldOf(Record(4, Phase::kHeld, {3})), core::Hold(core::hold::AfterJob{3}));
  EXPECT_EQ(admission_.HoldOf(Record(4, Phase::kHeld, {2})), std::nullopt) << "it is over";
  live_.Add(Record(5, Phase::kRunning));
  const auto both = admission_.HoldOf(Record(6, Phase::kHeld, {3, 4, 5}));
  EXPECT_EQ(both, core::Hold(core::hold::AfterJob{3, {5}}));
  EXPECT_EQ(core::InWords(*both, 6), "waits for jobs 3, 5");
  core::JobRecord held = Record(4, Phase::kHeld, {3});
  held.asked.held = true;
  EXPECT_EQ(admission_.HoldOf(held), core::Hold(core::hold::ByUser{}));
}

TEST_F(AdmissionTest, U14_GpusAndTimeOfAJobAreBounded) {
  core::Submission job = Job();
  job.gpus = 3;
  const auto many = Admit({job}, kBob);
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().message,
              HasSubstr("asks for 3 GPUs, and bob could never have them at once; the limit for one "
                        "user is 2 (limits.gpus): ask for 2 at most; an admin can raise"));
  job.gpus = 2;
  job.time_limit = core::Seconds(2 * 86400);
  const auto long_one = Admit({job}, kBob);
  ASSERT_FALSE(long_one);
  EXPECT_THAT(long_one.error().message,
              HasSubstr("asks for 2d of time; the limit for one user is 24h (limits.job_time): "
                        "give --time 24h, and let a longer job write checkpoints"));
  job.time_limit = core::Seconds(86400);
  EXPECT_TRUE(Admit({job}, kBob));
  EXPECT_TRUE(Admit({Job()})) << "ann has no such limit";
}

TEST_F(AdmissionTest, AJobWithoutATimeEndsAtTheLimitAndIsToldSo) {
  const auto records = Admit({Job()}, kBob);
  ASSERT_TRUE(records);
  EXPECT_EQ(records->front().asked.time_limit, core::Seconds(86400));
  EXPECT_THAT(records->front().note, HasSubstr("it ends after 24h at the latest"));
  const auto free = Admit({Job()});
  ASSERT_TRUE(free);
  EXPECT_FALSE(free->front().asked.time_limit);
  EXPECT_THAT(free->front().note, IsEmpty());
}

TEST_F(AdmissionTest, WhoIsInSeveralProjectsSaysWhich) {
  const Admission with{
      {.of = Few,
       .projects = core::WithDefault({{"vision", 0.5, {"ann", "bob"}}, {"speech", 0.2, {"ann"}}})},
      live_,
      advisor_,
      board_,
      store_};
  const auto admit = [&](const std::string& project, const core::Account& who) {
    core::Submission job = Job();
    job.project = project;
    const auto records = with.Admit({&job, 1}, who, 10, 5);
    return records ? std::string("admitted") : records.error().message;
  };
  EXPECT_THAT(admit("", kAnn), HasSubstr("ann is in 2 projects, so say which this job counts to: "
                                         "--project vision, or --project speech"));
  EXPECT_EQ(admit("speech", kAnn), "admitted");
  EXPECT_EQ(admit("", kBob), "admitted");
  EXPECT_THAT(admit("speech", kBob), HasSubstr("bob is not in project 'speech', but in vision"));
  EXPECT_THAT(admit("visoin", kBob), HasSubstr("did you mean 'vision'"));
  EXPECT_EQ(admit("", kRoot), "admitted");
  EXPECT_EQ(admit("default", kRoot), "admitted");
  const core::Submission of_bob = Job();
  EXPECT_EQ(with.Admit({&of_bob, 1}, kBob, 10, 5)->front().asked.project, "vision");
  core::Submission job = Job();
  job.project = "vision";
  const auto none = Admit({job});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("this server has no projects; leave --project out"));
}

TEST_F(AdmissionTest, AManagersAccountIsTheProjectOfThatNameAndTimesAreKept) {
  const Admission with{
      {.of = Few,
       .projects = core::WithDefault({{"vision", 0.5, {"bob"}}, {"speech", 0.2, {"bob"}}}),
       .of_a_manager = true},
      live_,
      advisor_,
      board_,
      store_};
  core::Submission job = Job();
  const auto project = [&](const char* account) {
    job.project = account;
    const auto records = with.Admit({&job, 1}, kBob, 10, 5);
    return records ? records->front().asked.project : records.error().message;
  };
  EXPECT_EQ(project("speech"), "speech");
  EXPECT_EQ(project("default"), "default") << "bob is in others, and may use this account";
  EXPECT_EQ(project("no-project"), "vision");
  const auto records = with.Admit({&job, 1}, kBob, 10, 5);
  ASSERT_TRUE(records);
  EXPECT_FALSE(records->front().asked.time_limit);
}

TEST_F(AdmissionTest, NobodyComesAfterOneThatFailed) {
  board_.Put(Record(1, Phase::kFailed));
  board_.Put(Record(2, Phase::kFinished));
  store_.jobs[3] = Record(3, Phase::kCancelled);  // long over: the store knows
  EXPECT_FALSE(Admit({Job({1})}));
  EXPECT_TRUE(Admit({Job({2})}));
  EXPECT_FALSE(Admit({Job({3})}));
  EXPECT_FALSE(Admit({Job({10})})) << "after itself";
  EXPECT_FALSE(Admit({Job({0})}));
  EXPECT_EQ(admission_.FailedBefore(Record(4, Phase::kHeld, {2, 3}), 4).value(), 3);
}

TEST_F(AdmissionTest, HowAJobEndedIsNotMadeUpWhereTheStoreCannotBeRead) {
  store_.jobs[3] = Record(3, Phase::kFinished);
  store_.unreadable = true;
  const auto refused = Admit({Job({3})});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("how job 3 ended cannot be read"));
  EXPECT_FALSE(admission_.FailedBefore(Record(4, Phase::kHeld, {3}), 4));
  store_.unreadable = false;
  EXPECT_TRUE(Admit({Job({3})}));
}

TEST_F(AdmissionTest, RemembersWhoComesAfterWhom) {
  live_.Add(Record(1, Phase::kRunning));
  live_.Add(Record(2, Phase::kRunning));
  admission_.AddDependent(Record(3, Phase::kHeld, {1, 2}));
  admission_.AddDependent(Record(4, Phase::kHeld, {1, 77}));
  EXPECT_THAT(admission_.TakeDependents(77), IsEmpty()) << "it was over already";
  EXPECT_THAT(admission_.TakeDependents(1), ElementsAre(3, 4));
  EXPECT_THAT(admission_.TakeDependents(1), IsEmpty());
  EXPECT_THAT(admission_.TakeDependents(2), ElementsAre(3));
}

TEST_F(AdmissionTest, F13_WhoIsOverComesAfterNobody) {
  live_.Add(Record(1, Phase::kRunning));
  admission_.AddDependent(Record(3, Phase::kHeld, {1}));
  admission_.AddDependent(Record(4, Phase::kHeld, {1}));
  admission_.RemoveDependent(Record(3, Phase::kCancelled, {1}));
  EXPECT_THAT(admission_.TakeDependents(1), ElementsAre(4)) << "3 was cancelled while 1 runs";
}

}  // namespace
}  // namespace sharewell::control
