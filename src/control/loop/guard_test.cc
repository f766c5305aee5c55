#include "control/loop/guard.h"

#include <gmock/gmock.h>

#include <cmath>

#include "control/loop/test_guard.h"

namespace sharewell::control {
namespace {

using core::GpuId;
using core::JobId;
using core::Seconds;
using core::UserId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class GuardTest : public ::testing::Test, protected GuardWorld {
 protected:
  using GuardWorld::Run;
};

TEST_F(GuardTest, LearnsTheRateAloneAndPartsAPairThatBreaksTheBound) {
  const JobId a = Add({0});
  EXPECT_THAT(Run(40).leave, IsEmpty());
  EXPECT_NEAR(*guard.PaceOf(a).alone, 10, 0.01);
  EXPECT_NEAR(*guard.PaceOf(a).slowdown, 1, 0.01);

  const Seconds together = now;
  const JobId b = Add({0});
  At(b).standing.steps_alone = 10;  // by its profile: it was never alone
  At(a).speed = 0.6;
  At(b).speed = 0.5;
  Verdict verdict = Run(45);
  EXPECT_THAT(JobsOf(verdict.leave), ElementsAre(b)) << "the newcomer, and said once";
  EXPECT_EQ(verdict.leave[0].why.slowed, a);
  EXPECT_NEAR(verdict.leave[0].why.slowdown, 1 / 0.6, 0.02);
  EXPECT_GE(left_at - together, Seconds(20)) << "settled, and two whole windows looked at";
  ASSERT_THAT(verdict.pairs, SizeIs(1));
  EXPECT_EQ(verdict.pairs[0].a, a);
  EXPECT_NEAR(verdict.pairs[0].speed_a, 0.6, 0.02);
  EXPECT_NEAR(verdict.pairs[0].speed_b.value(), 0.5, 0.02);

  jobs.erase(b);
  At(a).speed = 1;
  verdict = Run(60);
  EXPECT_THAT(verdict.leave, IsEmpty());
  EXPECT_FALSE(guard.PaceOf(b).alone) << "who has ended is forgotten";
  EXPECT_NEAR(*guard.PaceOf(a).alone, 10, 0.01) << "time in neighbours did not count";
}

// The first bar of the issue's guard: "corrected within 15 s of settling", "far beyond the bound
// (twice) within 10 s".
TEST_F(GuardTest, IsQuick) {
  for (const auto& [speed, most] : {std::pair(0.65, 15), std::pair(0.4, 15), std::pair(0.3, 10)}) {
    GuardWorld world;
    const JobId a = world.Add({0});
    world.Run(40);
    const Seconds settled = world.now + Seconds(1 + 10);
    const JobId b = world.Add({0}, 5);
    world.At(b).standing.steps_alone = 5;
    world.At(a).speed = speed;
    const Verdict verdict = world.Run(45);
    EXPECT_THAT(JobsOf(verdict.leave), ElementsAre(b)) << speed;
    EXPECT_GT(world.left_at, settled) << speed;
    EXPECT_LE(world.left_at - settled, Seconds(most)) << speed;
  }
}

// The same pair as above, with new ids in the middle of what is looked at.
TEST_F(GuardTest, F13_JudgesOnWhenIdsAreGivenAnew) {
  Add({1});  // it goes, and its id with it
  Add({0});
  Run(40);
  jobs.erase(JobId(0));
  const JobId newcomer = Add({0});
  At(newcomer).standing.steps_alone = 10;
  At(JobId(1)).speed = 0.6;
  At(newcomer).speed = 0.5;
  EXPECT_THAT(Run(20).leave, IsEmpty());
  Renumber({false, true, true});
  EXPECT_NEAR(*guard.PaceOf(JobId(0)).alone, 10, 0.01) << "it is known under its new id";
  const Seconds renumbered = now;
  const Verdict verdict = Run(25);
  EXPECT_THAT(JobsOf(verdict.leave), ElementsAre(JobId(1)));
  EXPECT_LE(left_at - renumbered, Seconds(6)) << "two windows after they settled";
  ASSERT_THAT(verdict.pairs, SizeIs(1));
  EXPECT_EQ(verdict.pairs[0].a, JobId(0));

  // Who was beside it has left since: what is measured from now on is measured anew.
  jobs.erase(JobId(1));
  Renumber({true, false});
  At(JobId(0)).speed = 1;
  Run(5);
  EXPECT_FALSE(guard.PaceOf(JobId(0)).slowdown) << "it has to settle";
  Run(40);
  EXPECT_NEAR(*guard.PaceOf(JobId(0)).slowdown, 1, 0.01);
}

TEST_F(GuardTest, AGoodPairStaysThroughNoiseAndIsRemembered) {
  Add({0});
  Run(40);
  const JobId b = Add({0}, 4);
  At(b).standing.steps_alone = 4;
  At(b).standing.sm_share = 0.6;
  for (auto& [id, loop] : jobs) loop.speed = 0.83;
  noise = [](double t) { return 1 + 0.1 * std::sin(t / 7); };
  const Verdict verdict = Run(600);
  EXPECT_THAT(verdict.leave, IsEmpty());
  ASSERT_THAT(verdict.pairs, SizeIs(1));
  EXPECT_NEAR(verdict.pairs[0].speed_b.value(), 0.83, 0.09);
  EXPECT_EQ(verdict.pairs[0].sm_share_a, 1);
  EXPECT_EQ(verdict.pairs[0].sm_share_b, 0.6);
}

TEST_F(GuardTest, APairThatWasGoodAndIsNotAnyMoreIsRememberedAgain) {
  const JobId a = Add({0});
  Run(40);
  const JobId b = Add({0});
  At(b).standing.steps_alone = 10;
  EXPECT_THAT(Run(60).pairs, SizeIs(1));
  for (const JobId id : {a, b}) At(id).speed = 0.5;
  const Verdict verdict = Run(300);
  EXPECT_THAT(verdict.leave, Not(IsEmpty())) << "it lasts";
  ASSERT_THAT(verdict.pairs, Not(IsEmpty())) << "else they would be put together again";
  EXPECT_NEAR(verdict.pairs[0].speed_a, 0.5, 0.02);
}

TEST_F(GuardTest, WhoIsSlowByItselfIsNeverJudged) {
  const JobId a = Add({0});
  At(a).standing.steps_alone = 100;
  Add({1});
  EXPECT_THAT(Run(200).leave, IsEmpty());
  EXPECT_NEAR(*guard.PaceOf(a).alone, 10, 0.01) << "measured beats the profile";
}

TEST_F(GuardTest, OfTwoThatCostAsMuchTheLastLeaves) {
  const JobId a = Add({0});
  Run(40);
  const JobId b = Add({0});
  At(b).standing.steps_alone = 10;
  Run(40);
  const JobId c = Add({0});
  At(c).standing.steps_alone = 10;
  At(a).speed = 0.5;
  const Verdict verdict = Run(30);
  EXPECT_THAT(JobsOf(verdict.leave), ElementsAre(c));
  EXPECT_THAT(verdict.pairs, IsEmpty()) << "three tell nothing of two";
}

// A hog that came first, a victim, and one that does no harm and came last.
TEST_F(GuardTest, WhoCostsTheOthersMostForWhatItKeepsLeaves) {
  const JobId hog = Add({0});
  At(hog).sm_alone = 0.8;
  Run(40);
  const JobId victim = Add({0});
  At(victim).standing.steps_alone = 10;
  At(victim).sm_alone = At(victim).standing.sm_alone = 0.3;
  Run(40);
  const JobId harmless = Add({0});
  At(harmless).standing.steps_alone = 10;
  At(harmless).sm_alone = At(harmless).standing.sm_alone = 0.1;
  At(hog).speed = 0.95;
  At(victim).speed = 0.3;
  At(harmless).speed = 0.6;
  const Verdict verdict = Run(40);
  EXPECT_THAT(JobsOf(verdict.leave), ElementsAre(hog)) << "not the newest";
  EXPECT_EQ(verdict.leave[0].why.slowed, victim);
  EXPECT_NEAR(verdict.leave[0].why.slowdown, 1 / 0.3, 0.05);
  EXPECT_EQ(verdict.leave[0].why.bound, 1.25);
}

TEST_F(GuardTest, WhoTellNothingAreJudgedByWhatTheyKeepActive) {
  const JobId a = Add({0});
  At(a).tells = false;
  At(a).standing.sm = 0.6;
  EXPECT_THAT(Run(40).leave, IsEmpty());
  const JobId b = Add({0});
  At(b).tells = false;
  const auto active = [&](double sm) { At(a).standing.sm = At(b).standing.sm = sm; };
  active(0.55);
  EXPECT_THAT(Run(120).leave, IsEmpty())
      << "what the other keeps active alone is not known: it may still load";
  At(b).standing.sm_alone = 0.4;
  active(0.9);
  EXPECT_THAT(Run(60).leave, IsEmpty());
  EXPECT_NEAR(*guard.PaceOf(a).slowdown, 1 / 0.9, 0.01);
  EXPECT_FALSE(guard.PaceOf(a).steps_per_second);
  active(0.5);  // both at half their speed
  EXPECT_THAT(Run(150).leave, IsEmpty()) << "a first epoch may take as long";
  const Verdict verdict = Run(60);
  EXPECT_THAT(JobsOf(verdict.leave), ElementsAre(b));
  EXPECT_FALSE(verdict.leave[0].why.by_steps);
  ASSERT_THAT(verdict.pairs, SizeIs(1)) << "a mean of both is remembered because it parts them";
  EXPECT_LT(verdict.pairs[0].speed_a, 0.75);
}

TEST_F(GuardTest, OneThatTellsNothingIsJudgedByWhatItsNeighbourLeaves) {
  const JobId a = Add({0});
  At(a).standing.sm = 0.6;
  Run(40);
  const JobId b = Add({0});
  At(b).tells = false;
  At(b).standing.sm_alone = 0.4;
  At(a).speed = 0.9;
  At(a).standing.sm = At(b).standing.sm = 0.6 * 0.9 + 0.4 * 0.5;
  const Verdict verdict = Run(220);
  ASSERT_THAT(verdict.leave, SizeIs(1));
  EXPECT_EQ(verdict.leave[0].why.slowed, b);
  EXPECT_EQ(verdict.leave[0].job, a) << "it costs 0.5 for the 0.9 it keeps";
  ASSERT_THAT(verdict.pairs, SizeIs(1));
  EXPECT_NEAR(verdict.pairs[0].speed_a, 0.5, 0.02);
  EXPECT_NEAR(verdict.pairs[0].speed_b.value(), 0.9, 0.02);
}

TEST_F(GuardTest, WhoStartedTogetherPartByNumber) {
  const JobId a = Add({0});
  const JobId b = Add({0});
  for (const JobId id : {a, b}) {
    At(id).standing.steps_alone = 10;
    At(id).speed = 0.5;
  }
  EXPECT_THAT(JobsOf(Run(200).leave), ElementsAre(b));
}

TEST_F(GuardTest, JobsOfSeveralGpusShareWhereOneIsCommon) {
  const JobId a = Add({0, 1});
  Run(40);
  const JobId b = Add({1, 2});
  const JobId c = Add({3});
  At(a).speed = 0.5;
  At(c).speed = 0.1;
  EXPECT_THAT(JobsOf(Run(25).leave), ElementsAre(b));
}

TEST_F(GuardTest, StepsMayComeInLots) {
  const JobId a = Add({0});
  At(a).lot = 100;  // every ten seconds
  Run(80);
  EXPECT_NEAR(*guard.PaceOf(a).alone, 10, 1.1);
  const JobId b = Add({0});
  EXPECT_THAT(Run(120).leave, IsEmpty()) << "nobody is slowed";
  jobs.erase(b);
  Run(120);
  Add({0});
  At(a).speed = 0.4;
  EXPECT_THAT(Run(400).leave, Not(IsEmpty()));
}

TEST_F(GuardTest, StepsMayBeToldOnceAMinute) {
  const JobId a = Add({0});
  At(a).lot = 600;
  Run(900);
  EXPECT_NEAR(*guard.PaceOf(a).alone, 10, 0.3);
  Add({0});
  At(a).speed = 0.8;
  EXPECT_THAT(Run(1800).leave, IsEmpty());
}

// The finding F20: two jobs that do not interfere, and one of them pauses.
TEST_F(GuardTest, F20_WhoPausesIsNotSlow) {
  const JobId a = Add({0});
  Run(40);
  const JobId b = Add({0});
  At(b).standing.steps_alone = 10;
  At(a).speed = At(b).speed = 0.9;
  Run(30);
  At(a).own = [from = now.value](double t) { return t > from + 2 && t < from + 12 ? 0.0 : 1.0; };
  EXPECT_THAT(Run(60).leave, IsEmpty());
  At(a).own = [from = now.value](double t) { return t > from + 2 && t < from + 62 ? 0.0 : 1.0; };
  EXPECT_THAT(Run(120).leave, IsEmpty());
}

TEST_F(GuardTest, F20_WhoStopsTellingStepsEvictsNobody) {
  const JobId a = Add({0});
  Run(40);
  Add({0});
  At(a).speed = 0;
  EXPECT_THAT(Run(600).leave, IsEmpty());
}

TEST_F(GuardTest, F20_WhoTellsFewerStepsThanItDoesEvictsNobody) {
  const JobId liar = Add({0});
  At(liar).sm_alone = 0.5;
  At(liar).standing.user = UserId(1);
  Run(40);
  const JobId b = Add({0});
  At(b).sm_alone = At(b).standing.sm_alone = 0.4;
  At(b).standing.steps_alone = 10;
  At(b).standing.user = UserId(2);
  At(liar).speed = At(b).speed = 0.9;
  At(liar).told_of = 0.3;
  EXPECT_THAT(Run(900).leave, IsEmpty());
}

TEST_F(GuardTest, F20_WhoSlowsItselfEvictsNobodyElse) {
  for (const bool seen : {false, true}) {
    GuardWorld world;
    const JobId slow = world.Add({0});
    world.At(slow).standing.user = UserId(1);
    world.Run(40);
    const JobId b = world.Add({0});
    world.At(b).standing.steps_alone = 10;
    world.At(b).standing.user = UserId(2);
    if (seen) world.At(slow).sm_alone = world.At(slow).standing.sm_alone = 0.5;
    if (seen) world.At(b).sm_alone = world.At(b).standing.sm_alone = 0.4;
    world.At(slow).speed = 0.3;
    EXPECT_THAT(JobsOf(world.Run(20).leave), ElementsAre(slow)) << "at most itself";
  }
}

TEST_F(GuardTest, AnotherUsersJobLeavesWhereStepsAndSmsAgreeAndItFeelsIt) {
  const JobId victim = Add({0});
  At(victim).sm_alone = 0.4;
  At(victim).standing.user = UserId(1);
  Run(40);
  const JobId hog = Add({0});
  At(hog).sm_alone = At(hog).standing.sm_alone = 0.9;
  At(hog).standing.steps_alone = 10;
  At(hog).standing.user = UserId(2);
  At(victim).speed = 0.3;
  At(hog).speed = 0.93;
  EXPECT_THAT(JobsOf(Run(30).leave), ElementsAre(hog));
}

TEST_F(GuardTest, NobodyLeavesMoreThanTwiceInARow) {
  const JobId a = Add({0});
  Run(40);
  const JobId b = Add({0});
  At(a).speed = 0.4;
  At(b).standing.evicted = 2;
  Verdict verdict = Run(25);
  EXPECT_THAT(JobsOf(verdict.leave), ElementsAre(a)) << "it may go elsewhere itself";
  At(a).standing.evicted = 2;
  jobs.erase(b);
  At(a).speed = 1;
  Run(40);
  const JobId c = Add({0});
  At(c).standing.evicted = 2;
  At(a).speed = 0.4;
  verdict = Run(300);
  EXPECT_THAT(verdict.leave, IsEmpty());
  ASSERT_THAT(verdict.stay, SizeIs(1)) << "said once";
  EXPECT_EQ(verdict.stay[0].why.slowed, a);
  EXPECT_EQ(verdict.stay[0].job, c);
  EXPECT_THAT(verdict.pairs, SizeIs(1));
}

TEST_F(GuardTest, ANewcomersSlowFirstEpochIsItsOwn) {
  const JobId a = Add({0});
  Run(40);
  const JobId b = Add({0});
  At(b).standing.steps_alone = 10;
  At(a).speed = At(b).speed = 0.9;
  At(b).own = [from = now.value](double t) { return t < from + 150 ? 0.4 : 1.0; };
  const Verdict verdict = Run(400);
  EXPECT_THAT(verdict.leave, IsEmpty());
  ASSERT_THAT(verdict.pairs, SizeIs(1));
  EXPECT_NEAR(verdict.pairs[0].speed_b.value(), 0.9, 0.1)
      << "what it did in that epoch is not remembered";
}

TEST_F(GuardTest, ANewcomerIsSlowedAtOnceWhereTheSmsAreFull) {
  const JobId hog = Add({0});
  At(hog).sm_alone = 0.9;
  Run(40);
  const JobId victim = Add({0});
  At(victim).sm_alone = At(victim).standing.sm_alone = 0.4;
  At(victim).standing.steps_alone = 10;
  At(hog).speed = 0.93;
  At(victim).speed = 0.3;
  EXPECT_THAT(JobsOf(Run(30).leave), ElementsAre(hog));
}

TEST_F(GuardTest, AShareThatThePolicyGaveCountsAsSlowdownAndOneThatWasAskedForDoesNot) {
  for (const bool own : {false, true}) {
    GuardWorld world;
    const JobId a = world.Add({0});
    world.At(a).standing.sm_share = 0.6;
    world.At(a).standing.share_speed = 0.75;
    world.At(a).standing.own_share = own;
    world.At(a).speed = 0.75;
    world.Run(40);
    EXPECT_NEAR(*world.guard.PaceOf(a).alone, 10, 0.01) << "with all SMs";
    EXPECT_NEAR(*world.guard.PaceOf(a).slowdown, 1 / 0.75, 0.01);
    world.At(a).standing.max_slowdown = 1.1;  // and it was kept
    const JobId b = world.Add({0});
    world.At(b).standing.steps_alone = 10;
    world.At(a).speed = 0.72;
    EXPECT_THAT(world.Run(own ? 300 : 40).leave, SizeIs(own ? 0 : 1)) << own;
  }
  const JobId unknown = Add({0});
  At(unknown).standing.sm_share = 0.6;
  Run(40);
  EXPECT_FALSE(guard.PaceOf(unknown).alone) << "nobody knows what it would do with all SMs";
}

TEST_F(GuardTest, AShortBadNeighbourOfALongJobMayStay) {
  const JobId a = Add({0});
  Run(40);
  const JobId b = Add({0});
  At(a).speed = 0.6;
  At(a).standing.run_time = At(a).standing.alone_time = Seconds(1000);
  At(a).standing.left = Seconds(9000);
  At(b).standing.left = Seconds(300);
  EXPECT_THAT(Run(60).leave, IsEmpty()) << "over its whole run it keeps its bound";
  At(b).standing.left = Seconds(20000);
  EXPECT_THAT(JobsOf(Run(2).leave), ElementsAre(b));
}

TEST_F(GuardTest, AStricterBoundOfItsOwnCounts) {
  for (const double bound : {1.25, 1.05}) {
    GuardWorld world;
    const JobId a = world.Add({0});
    world.Run(40);
    world.Add({0});
    world.At(a).speed = 0.85;
    world.At(a).standing.max_slowdown = bound;
    EXPECT_THAT(world.Run(40).leave, SizeIs(bound < 1.1 ? 1 : 0));
  }
}

TEST_F(GuardTest, AnotherAttemptBeginsAnew) {
  const JobId a = Add({0});
  Run(60);
  At(a).standing.started = now;
  At(a).done = 0;
  Run(5);
  EXPECT_FALSE(guard.PaceOf(a).steps_per_second);
  EXPECT_TRUE(guard.PaceOf(a).alone) << "on the same GPU it is as fast as it was";
  At(a).standing.gpus = {GpuId(1)};
  Run(2);
  EXPECT_FALSE(guard.PaceOf(a).alone);
}

}  // namespace
}  // namespace sharewell::control
