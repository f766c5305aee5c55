// When the jobs of a queue should start, what of that may be told, and how good it was.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "policy/registry.h"
#include "simulation/starts/play_on.h"
#include "simulation/starts/score_starts.h"
#include "simulation/starts/tell_starts.h"
#include "testing/builders.h"

namespace sharewell::simulation {
namespace {

using core::JobId;
using core::Seconds;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;
using testing::ElementsAre;

core::Cluster GpusOfOneNode(int gpus) { return ClusterBuilder().Node(gpus).Build(); }

class Starts : public testing::Test {
 protected:
  std::unique_ptr<policy::Policy> PolicyNamed(const std::string& name) const {
    policy::Options options;
    options.interference = &model_;
    return policy::NewPolicy(name, options).value();
  }
  // Seconds from now by job; -1: none.
  static std::vector<double> InSeconds(const core::Snapshot& from,
                                       const core::Result<std::vector<Played>>& played) {
    EXPECT_TRUE(played);
    std::vector<double> starts;
    for (const core::JobId id : SortedWaiting(from)) {
      const auto& start = (*played)[id.index()].start;
      starts.push_back(start ? std::round((*start - from.now()).value) : -1);
    }
    return starts;
  }
  std::vector<double> Played(const core::Snapshot& from, const std::string& policy,
                             const PlayOnOptions& options = {}, Rests rests = {}) const {
    return InSeconds(from, PlayOn(from, *PolicyNamed(policy), model_, rests, options));
  }
  std::vector<double> Told(const core::Snapshot& from, const std::string& policy,
                           const PlayOnOptions& options = {}) const {
    return InSeconds(from, TellStarts(from, *PolicyNamed(policy), model_, {}, options));
  }

  const interference::Interference model_ = fixtures::WithoutResidual();

 private:
  static std::vector<JobId> SortedWaiting(const core::Snapshot& from) {
    std::vector<JobId> waiting(from.waiting().begin(), from.waiting().end());
    std::sort(waiting.begin(), waiting.end());
    return waiting;
  }
};

TEST_F(Starts, OneAfterTheOtherFromWhatIsLeft) {
  SnapshotBuilder s(GpusOfOneNode(1));
  s->AdvanceTo(Seconds(10));
  s.Running({.seconds = 100}, {0});
  s.At(50);
  s.Waiting({.seconds = 30, .submit = 50});
  s.Waiting({.seconds = 20, .submit = 50});
  EXPECT_THAT(Played(*s, "slot"), ElementsAre(60, 90));
  EXPECT_THAT(Played(*s, "sjf"), ElementsAre(80, 60));
}

TEST_F(Starts, AnUnknownDurationTakesThemFromThoseAloneThatComeAfterIt) {
  SnapshotBuilder s(GpusOfOneNode(1));
  s.Running({.seconds = 100}, {0});
  s.Waiting({.seconds = 30});
  s.Waiting({.duration_known = false});
  s.Waiting({.seconds = 30});
  EXPECT_THAT(Played(*s, "slot"), ElementsAre(100, 130, -1));
  // What is known besides of how long it takes is no news for the policy.
  const std::vector<std::optional<Seconds>> rests = {{}, {}, Seconds(50), {}};
  EXPECT_THAT(Played(*s, "slot", {}, rests), ElementsAre(100, 130, 180));
}

TEST_F(Starts, BeyondTheFrontOfTheLineNothingIsTold) {
  SnapshotBuilder s(GpusOfOneNode(1));
  s.Running({.seconds = 100}, {0});
  for (int k = 0; k < 4; ++k) s.Waiting({.seconds = 10.0 * (4 - k)});
  EXPECT_THAT(Played(*s, "sjf", {.most_waiting = 2}), ElementsAre(-1, -1, 110, 100));
  EXPECT_THAT(Played(*s, "sjf", {.most_waiting = 2, .until = JobId(1)}),
              ElementsAre(-1, -1, -1, -1));
}

TEST_F(Starts, WhoWouldBeOvertakenByThoseToComeIsToldNothing) {
  SnapshotBuilder s(GpusOfOneNode(1));
  s.Running({.seconds = 4000}, {0});
  // Ten an hour of 500 s: more than one GPU can do.
  for (int k = 0; k < 10; ++k) {
    s.At(360.0 * k).Waiting({.seconds = 500, .submit = 360.0 * k});
  }
  s.At(3500);
  const JobId last = s.Waiting({.seconds = 600, .submit = 3500});
  const auto nobody = Played(*s, "sjf", {.until = last});
  EXPECT_EQ(nobody.back(), 500 + 10 * 500);
  EXPECT_EQ(Told(*s, "sjf", {.until = last}).back(), -1) << "shorter ones go before it for ever";
  EXPECT_EQ(Told(*s, "slot", {.until = last}).back(), 5500) << "first come, first served";
  EXPECT_EQ(Told(*s, "sjf").front(), 500) << "the front does not hang on who comes";
}

TEST_F(Starts, WhoOutlivedItsDurationRunsOnForAsLongAsSuchDo) {
  EXPECT_EQ(LikelyRest(Seconds(100), Seconds(120), 0), Seconds(2));
  EXPECT_NEAR(LikelyRest(Seconds(100), Seconds(0), 0.3).value, 100, 1e-9);
  EXPECT_NEAR(LikelyRest(Seconds(100), Seconds(30), 0.3).value, 70, 0.1);
  EXPECT_NEAR(LikelyRest(Seconds(100), Seconds(100), 0.3).value, 22.4, 0.1);
  EXPECT_GT(LikelyRest(Seconds(100), Seconds(200), 0.3), Seconds(10));
}

TEST_F(Starts, AreScoredOverTheWait) {
  SnapshotBuilder s(GpusOfOneNode(1));
  s.Running({.seconds = 1000}, {0});
  s.Waiting({.seconds = 500});
  s.Waiting({.duration_known = false});
  s.Waiting({.seconds = 10});
  const auto policy = PolicyNamed("slot");
  StartScorer scorer(4, 1, 0);
  ASSERT_TRUE(scorer.Look(*s, *policy, model_));
  std::vector<sim::JobOutcome> outcomes(4);
  outcomes[0].first_start = Seconds(0);
  outcomes[1].first_start = Seconds(800);   // told 1000
  outcomes[2].first_start = Seconds(1500);  // told 1500
  outcomes[3].first_start = Seconds(5000);  // told nothing
  const StartsScore score = scorer.Score(outcomes);
  EXPECT_EQ(score.scored, 3U);
  EXPECT_EQ(score.told, 2U);
  EXPECT_NEAR(score.error_median.value(), 0.125, 1e-9);
  EXPECT_FALSE(score.sampled);
  // Who waited less than a minute does not count.
  outcomes[1].first_start = Seconds(30);
  EXPECT_EQ(scorer.Score(outcomes).scored, 2U);
  EXPECT_TRUE(StartScorer(100'000, 1, 0).Score({}).sampled);
}

}  // namespace
}  // namespace sharewell::simulation
