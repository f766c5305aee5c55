#include "control/service/runs/run_gate.h"

#include <gmock/gmock.h>

#include "control/service/test_parts.h"

namespace sharewell::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunGateTest : public ::testing::Test {
 protected:
  LiveJob& Add(std::int64_t number, const core::Account& who = kAnn, const std::string& array = {},
               int at_once = 0) {
    core::JobRecord record;
    record.number = number;
    record.user = who;
    record.asked.array = array;
    if (at_once > 0) record.asked.array_at_once = at_once;
    return live_.Add(std::move(record));
  }
  // Goes to the loop where it may.
  std::string Ask(LiveJob& job) {
    std::string why = gate_.Ask(job.record);
    if (why.empty()) live_.GiveId(job);
    return why;
  }

  core::Limits limits_ = {.running_jobs = 2};
  LiveJobs live_;
  RunGate gate_{[this](const core::Account&) { return limits_; }, live_};
};

TEST_F(RunGateTest, F8_SoManyOfOneUserRunAtOnce) {
  EXPECT_THAT(Ask(Add(1)), IsEmpty());
  EXPECT_THAT(Ask(Add(2)), IsEmpty());
  EXPECT_EQ(Ask(Add(3)),
            "ann may run 2 jobs at once (limits.running_jobs), and that many run or are next; an "
            "admin can raise limits.running_jobs in sharewell.toml");
  EXPECT_THAT(Ask(Add(4)), HasSubstr("2 jobs at once"));
  EXPECT_THAT(Ask(Add(5, kBob)), IsEmpty()) << "another user's are not counted";
  EXPECT_THAT(gate_.TakeNext(), IsEmpty());
  live_.Remove(1);
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(3));
  EXPECT_THAT(Ask(*live_.Find(3)), IsEmpty());
  EXPECT_THAT(gate_.TakeNext(), IsEmpty());
  live_.TakeId(*live_.Find(2));
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(4));
}

TEST_F(RunGateTest, OneThatIsHeldOrOverIsNotTaken) {
  Ask(Add(1));
  Ask(Add(2));
  Ask(Add(3));
  Ask(Add(4));
  gate_.Forget(3);
  gate_.Forget(1);  // it was never kept
  live_.Remove(1);
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(4));
  EXPECT_THAT(gate_.TakeNext(), IsEmpty());
}

TEST_F(RunGateTest, HigherPrioritiesGoFirst) {
  limits_.running_jobs = 0;
  Ask(Add(1));
  LiveJob& urgent = Add(2);
  urgent.record.asked.priority = 5;
  Ask(urgent);
  limits_.running_jobs = 1;
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(2));
}

TEST_F(RunGateTest, N15_SoManyOfOneArrayRunAtOnce) {
  limits_.running_jobs = 100;
  EXPECT_THAT(Ask(Add(1, kAnn, "a_0", 2)), IsEmpty());
  EXPECT_THAT(Ask(Add(2, kAnn, "a_1", 2)), IsEmpty());
  EXPECT_EQ(Ask(Add(3, kAnn, "a_2", 2)),
            "at most 2 jobs of its array may run at once, as was asked for (%2)");
  EXPECT_THAT(Ask(Add(4, kAnn, "a_3", 2)), HasSubstr("(%2)"));
  EXPECT_THAT(Ask(Add(5, kAnn, "b_0", 1)), IsEmpty()) << "another array";
  EXPECT_THAT(Ask(Add(6)), IsEmpty()) << "no array";
  EXPECT_THAT(Ask(Add(7, kBob, "a_0", 2)), IsEmpty()) << "another user's array of that name";
  live_.Remove(1);
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(3));
  EXPECT_THAT(Ask(*live_.Find(3)), IsEmpty());
  EXPECT_THAT(gate_.TakeNext(), IsEmpty());
  live_.Remove(2);
  live_.Remove(3);
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(4));
}

TEST_F(RunGateTest, U14_SoManyGpusOfOneUserAtOnce) {
  limits_ = {.running_jobs = 100, .gpus = 4};
  const auto with = [this](std::int64_t number, int gpus, const core::Account& who = kAnn) {
    LiveJob& job = Add(number, who);
    job.record.asked.gpus = gpus;
    return Ask(job);
  };
  EXPECT_THAT(with(1, 2), IsEmpty());
  EXPECT_EQ(with(2, 4),
            "ann may have 4 GPUs at once (limits.gpus), and its jobs that run or are next have 2; "
            "an admin can raise limits.gpus in sharewell.toml");
  EXPECT_THAT(with(3, 1), HasSubstr("and job 2 of ann waits for them")) << "it does not overtake";
  EXPECT_THAT(with(4, 0), IsEmpty()) << "it wants none";
  EXPECT_THAT(with(5, 4, kBob), IsEmpty()) << "another user's are not counted";
  EXPECT_THAT(gate_.TakeNext(), IsEmpty());
  live_.Remove(1);
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(2));
  EXPECT_THAT(Ask(*live_.Find(2)), IsEmpty());
  EXPECT_THAT(gate_.TakeNext(), IsEmpty());
  live_.Remove(2);
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(3));
  EXPECT_THAT(Ask(*live_.Find(3)), IsEmpty());
}

TEST_F(RunGateTest, WhoWaitsForGpusAndLeavesKeepsNobodyBack) {
  limits_ = {.running_jobs = 100, .gpus = 2};
  LiveJob& large = Add(2);
  large.record.asked.gpus = 2;
  Ask(Add(1));
  EXPECT_NE(Ask(large), "");
  EXPECT_NE(Ask(Add(3)), "");
  gate_.Forget(2);
  EXPECT_THAT(gate_.TakeNext(), ElementsAre(3));
  EXPECT_THAT(Ask(*live_.Find(3)), IsEmpty());
}

TEST_F(RunGateTest, U14_WhoseGpuHoursOfTheWeekAreUsedUpWaits) {
  limits_ = {.running_jobs = 100, .gpu_hours_a_week = 100};
  double used = 99.9;
  RunGate gate([this](const core::Account&) { return limits_; }, live_,
               [&](const std::string&) { return used; });
  EXPECT_THAT(gate.Ask(Add(1).record), IsEmpty());
  used = 100.04;
  EXPECT_EQ(gate.Ask(Add(2).record),
            "jobs of ann used 100.0 GPU hours in the last seven days, of 100 "
            "(limits.gpu_hours_a_week): it waits until some of them are a week ago; an admin can "
            "raise limits.gpu_hours_a_week in sharewell.toml");
  LiveJob& cpu_only = Add(3);
  cpu_only.record.asked.gpus = 0;
  EXPECT_THAT(gate.Ask(cpu_only.record), IsEmpty());
  EXPECT_THAT(gate.TakeNext(), IsEmpty());
  used = 80;
  EXPECT_THAT(gate.TakeNext(), ElementsAre(2));
}

TEST_F(RunGateTest, AHigherPriorityOvertakesWhoWaitsForGpus) {
  limits_ = {.running_jobs = 100, .gpus = 2};
  LiveJob& large = Add(2);
  large.record.asked.gpus = 2;
  Ask(Add(1));
  EXPECT_NE(Ask(large), "");
  LiveJob& urgent = Add(3);
  urgent.record.asked.priority = 5;
  EXPECT_THAT(Ask(urgent), IsEmpty());
}

}  // namespace
}  // namespace sharewell::control
