#include "control/service/parts/admission.h"

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
  Admission admission_{{.most_waiting = 6, .most_waiting_of_one = 4, .most_bytes_of_one = 1 << 20},
                       live_,
                       advisor_,
                       board_,
                       store_};
};

TEST_F(AdmissionTest, NumbersTheRecordsOfASubmission) {
  const auto records = Admit({Job(), Job({10})});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ(records->at(0).number, 10);
  EXPECT_EQ(records->at(0).phase, Phase::kWaiting);
  EXPECT_EQ(records->at(0).submitted, 5);
  EXPECT_EQ(records->at(1).phase, Phase::kHeld);
  EXPECT_EQ(records->at(1).reason, "comes after job 10") << "of the same submission";
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
  EXPECT_THAT(mine.error().message, HasSubstr("ann has 3 jobs here, and 2 more"));
  EXPECT_TRUE(Admit({Job(), Job(), Job()}, kBob));
  const auto full = Admit({Job(), Job(), Job(), Job()}, kBob);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("the queue is full (3 jobs)"));
  core::Submission long_one = Job();
  long_one.command.emplace_back(2 << 20, 'x');
  const auto bytes = Admit({long_one}, kBob);
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message, HasSubstr("would take 2 MiB, more than the 1"));
}

TEST_F(AdmissionTest, SaysWhyAJobIsHeld) {
  live_.Add(Record(3, Phase::kRunning));
  EXPECT_EQ(admission_.WhyHeld(Record(4, Phase::kHeld, {3})),
            "comes after job 3, which is running");
  EXPECT_THAT(admission_.WhyHeld(Record(4, Phase::kHeld, {2})), IsEmpty()) << "it is over";
  core::JobRecord held = Record(4, Phase::kHeld, {3});
  held.asked.held = true;
  EXPECT_THAT(admission_.WhyHeld(held), HasSubstr("release"));
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
  EXPECT_EQ(admission_.FailedBefore(Record(4, Phase::kHeld, {2, 3}), 4), 3);
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
