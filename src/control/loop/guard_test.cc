// A small world of jobs that step at rates of their own, slowed by whoever is beside them.
#include "control/loop/guard.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

namespace sharewell::control {
namespace {

using core::GpuId;
using core::JobId;
using core::Seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

struct Loop {
  Standing standing;
  double alone = 10;  // steps a second
  double speed = 1;   // now
  double lot = 0;     // steps are told in lots of so many; 0: at once
  double done = 0;
  bool tells = true;
};

class GuardTest : public ::testing::Test {
 protected:
  JobId Add(std::vector<std::size_t> gpus, double alone = 10) {
    Loop loop;
    const JobId id(next_++);
    loop.standing.job = id;
    for (std::size_t gpu : gpus) loop.standing.gpus.emplace_back(gpu);
    loop.standing.started = now;
    loop.alone = alone;
    jobs.emplace(id, loop);
    return id;
  }
  Loop& At(JobId id) { return jobs.at(id); }

  // Looks once a second; what was said over all of it.
  Verdict Run(double seconds) {
    Verdict all;
    for (const Seconds end = now + Seconds(seconds); now < end;) {
      now += Seconds(1);
      std::vector<Standing> running;
      for (auto& [id, loop] : jobs) {
        loop.done += loop.alone * loop.speed * noise(now.value);
        if (loop.tells) {
          loop.standing.steps =
              loop.lot > 0 ? std::floor(loop.done / loop.lot) * loop.lot : loop.done;
        }
        running.push_back(loop.standing);
      }
      const Verdict verdict = guard.Look(now, running);
      if (!verdict.leave.empty() && all.leave.empty()) left_at = now;
      all.leave.insert(all.leave.end(), verdict.leave.begin(), verdict.leave.end());
      all.pairs.insert(all.pairs.end(), verdict.pairs.begin(), verdict.pairs.end());
    }
    return all;
  }

  void Renumber(const std::vector<bool>& stays) {
    const core::Renumbering ids(stays);
    guard.Renumber(ids);
    for (auto& [id, loop] : std::exchange(jobs, {})) {
      loop.standing.job = ids.Of(id);
      jobs.emplace(loop.standing.job, loop);
    }
    next_ = ids.staying();
  }

  Guard guard;
  std::map<JobId, Loop> jobs;
  std::function<double(double)> noise = [](double) { return 1.0; };
  Seconds now{100}, left_at;

 private:
  std::size_t next_ = 0;
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
  EXPECT_THAT(verdict.leave, ElementsAre(b)) << "the newcomer, and said once";
  EXPECT_GE(left_at - together, Seconds(25)) << "settled, and a whole window looked at";
  ASSERT_THAT(verdict.pairs, SizeIs(1));
  EXPECT_EQ(verdict.pairs[0].a, a);
  EXPECT_NEAR(verdict.pairs[0].speed_a, 0.6, 0.02);
  EXPECT_NEAR(verdict.pairs[0].speed_b, 0.5, 0.02);

  jobs.erase(b);
  At(a).speed = 1;
  verdict = Run(60);
  EXPECT_THAT(verdict.leave, IsEmpty());
  EXPECT_FALSE(guard.PaceOf(b).alone) << "who has ended is forgotten";
  EXPECT_NEAR(*guard.PaceOf(a).alone, 10, 0.01) << "time in neighbours did not count";
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
  EXPECT_THAT(verdict.leave, ElementsAre(JobId(1)));
  EXPECT_LE(left_at - renumbered, Seconds(6)) << "25 s after they came together";
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
  for (auto& [id, loop] : jobs) loop.speed = 0.83;
  noise = [](double t) { return 1 + 0.1 * std::sin(t / 7); };
  const Verdict verdict = Run(600);
  EXPECT_THAT(verdict.leave, IsEmpty());
  ASSERT_THAT(verdict.pairs, SizeIs(1));
  EXPECT_NEAR(verdict.pairs[0].speed_b, 0.83, 0.09);
}

TEST_F(GuardTest, WhoIsSlowByItselfIsNeverJudged) {
  const JobId a = Add({0});
  At(a).standing.steps_alone = 100;
  Add({1});
  EXPECT_THAT(Run(200).leave, IsEmpty());
  EXPECT_NEAR(*guard.PaceOf(a).alone, 10, 0.01) << "measured beats the profile";
}

TEST_F(GuardTest, OfThreeTheLastComesToLeave) {
  const JobId a = Add({0});
  Run(40);
  Add({0});
  Run(40);
  const JobId c = Add({0});
  At(a).speed = 0.5;
  const Verdict verdict = Run(30);
  EXPECT_THAT(verdict.leave, ElementsAre(c));
  EXPECT_THAT(verdict.pairs, IsEmpty()) << "three tell nothing of two";
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
  EXPECT_THAT(Run(60).leave, IsEmpty())
      << "what the other keeps active alone is not known: it may still load";
  At(b).standing.sm_alone = 0.4;
  active(0.9);
  EXPECT_THAT(Run(60).leave, IsEmpty());
  EXPECT_NEAR(*guard.PaceOf(a).slowdown, 1 / 0.9, 0.01);
  EXPECT_FALSE(guard.PaceOf(a).steps_per_second);
  active(0.5);  // both at half their speed
  const Verdict verdict = Run(25);
  EXPECT_THAT(verdict.leave, ElementsAre(b));
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
  const Verdict verdict = Run(30);
  EXPECT_THAT(verdict.leave, ElementsAre(b));
  ASSERT_THAT(verdict.pairs, SizeIs(1));
  EXPECT_NEAR(verdict.pairs[0].speed_a, 0.9, 0.02);
  EXPECT_NEAR(verdict.pairs[0].speed_b, 0.5, 0.02);
}

TEST_F(GuardTest, WhoStartedTogetherPartByNumber) {
  const JobId a = Add({0});
  const JobId b = Add({0});
  for (const JobId id : {a, b}) {
    At(id).standing.steps_alone = 10;
    At(id).speed = 0.5;
  }
  EXPECT_THAT(Run(30).leave, ElementsAre(b));
}

TEST_F(GuardTest, AJobWithoutStepsIsJudgedByItsNeighbours) {
  const JobId silent = Add({0});
  At(silent).tells = false;
  Run(40);
  const JobId b = Add({0});
  At(b).standing.steps_alone = 10;
  EXPECT_THAT(Run(60).pairs, IsEmpty()) << "half a measurement";
  At(b).speed = 0.4;
  const Verdict verdict = Run(30);
  EXPECT_THAT(verdict.leave, ElementsAre(b));
  ASSERT_THAT(verdict.pairs, SizeIs(1)) << "but remembered where it parts them";
  EXPECT_EQ(verdict.pairs[0].b, silent);
  EXPECT_EQ(verdict.pairs[0].speed_b, 1);
}

TEST_F(GuardTest, JobsOfSeveralGpusShareWhereOneIsCommon) {
  const JobId a = Add({0, 1});
  Run(40);
  const JobId b = Add({1, 2});
  const JobId c = Add({3});
  At(a).speed = 0.5;
  At(c).speed = 0.1;
  EXPECT_THAT(Run(40).leave, ElementsAre(b));
}

TEST_F(GuardTest, StepsMayComeInLots) {
  const JobId a = Add({0});
  At(a).lot = 100;  // every ten seconds
  Run(80);
  EXPECT_NEAR(*guard.PaceOf(a).alone, 10, 1.1);
  Add({0});
  EXPECT_THAT(Run(120).leave, IsEmpty()) << "nobody is slowed";
  At(a).speed = 0.5;
  EXPECT_THAT(Run(60).leave, Not(IsEmpty()));
}

TEST_F(GuardTest, WhoStandsStillBesideAnotherIsNoticed) {
  const JobId a = Add({0});
  Run(40);
  const JobId b = Add({0});
  At(a).speed = 0;
  EXPECT_THAT(Run(30).leave, ElementsAre(b));
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
  EXPECT_THAT(Run(2).leave, ElementsAre(b));
}

TEST_F(GuardTest, AStricterBoundOfItsOwnCounts) {
  const JobId a = Add({0});
  Run(40);
  Add({0});
  At(a).speed = 0.85;
  EXPECT_THAT(Run(60).leave, IsEmpty());
  At(a).standing.max_slowdown = 1.05;
  EXPECT_THAT(Run(2).leave, SizeIs(1));
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
