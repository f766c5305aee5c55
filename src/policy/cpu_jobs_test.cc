#include "policy/cpu_jobs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "testing/builders.h"
#include "testing/random_case.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using core::JobView;
using core::NodeId;
using fixtures::ClusterBuilder;
using fixtures::SnapshotBuilder;

struct Placed {
  std::vector<std::pair<JobId, NodeId>> starts;
  std::vector<JobId> told;
  std::size_t looked_at = 0;
};

Placed Place(SnapshotBuilder& s, const CpuLine& line, bool by_user) {
  Placed placed;
  core::Plan plan;
  Ledger ledger(*s, 4, false);
  placed.looked_at =
      PlaceCpuJobs(*s, line, ledger, false, by_user, plan,
                   [&](JobId id, const core::Reason&) { placed.told.push_back(id); });
  for (const auto& start : plan.starts) placed.starts.emplace_back(start.job, start.to.node);
  return placed;
}

CpuLine LineOf(SnapshotBuilder& s) {
  CpuLine line;
  line.Rebuild(*s);
  return line;
}

// Who goes next is looked for among all of them each time.
Placed PlaceOneByOne(SnapshotBuilder& s, bool by_user) {
  Placed placed;
  Ledger ledger(*s, 4, false);
  std::map<core::UserId, double> held;
  for (const JobId id : s->running()) {
    const JobView& view = s->job(id);
    if (by_user && view.cpu_only()) held[view.job.user] += view.allocation.cores;
  }
  std::vector<JobId> left;
  for (const JobId id : s->waiting()) {
    if (s->job(id).cpu_only()) left.push_back(id);
  }
  while (!left.empty()) {
    const auto rank = [&](JobId id) {
      const core::Job& job = s->job(id).job;
      return std::tuple(-job.priority, held[job.user], job.submit.value, id);
    };
    const auto first = std::min_element(left.begin(), left.end(),
                                        [&](JobId a, JobId b) { return rank(a) < rank(b); });
    const JobId id = *first;
    left.erase(first);
    const double cores = s->job(id).job.cores.value_or(1);
    NodeId best;
    for (std::size_t n = 0; n < s->cluster().nodes().size(); ++n) {
      const double free = ledger.cores_free(*s, NodeId(n));
      if (free + 1e-9 < cores) continue;
      if (!best.valid() || free > ledger.cores_free(*s, best)) best = NodeId(n);
    }
    if (!best.valid()) {
      if (placed.told.size() < 64) placed.told.push_back(id);
      continue;
    }
    ledger.Occupy(*s, id, {{}, best, cores});
    if (by_user) held[s->job(id).job.user] += cores;
    placed.starts.emplace_back(id, best);
  }
  return placed;
}

TEST(CpuJobs, AreServedAsIfAllWereLookedAt) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    fixtures::Dice dice(seed);
    SnapshotBuilder s(ClusterBuilder().Node(0).Cores(16).Node(0).Cores(9).Build());
    CpuLine kept;
    const int jobs = dice.Between(1, 150);
    double now = 0;
    for (int i = 0; i < jobs; ++i) {
      fixtures::JobSpec spec;
      spec.gpus = 0;
      spec.submit = now;
      spec.cores = dice.Pick({0.5, 1, 2, 3, 7});
      spec.priority = dice.Between(0, 2);
      spec.user = static_cast<std::size_t>(dice.Between(0, 3));
      const bool runs = dice.Chance(0.05);
      kept.Update(*s, runs ? s.RunningOnNode(spec, 1, 0.5) : s.Waiting(spec));
      if (dice.Chance(0.7)) s.At(now += 1);
    }
    for (const bool by_user : {false, true}) {
      const Placed expected = PlaceOneByOne(s, by_user);
      for (const CpuLine& line : {kept, LineOf(s)}) {
        const Placed placed = Place(s, line, by_user);
        EXPECT_EQ(placed.starts, expected.starts) << "seed " << seed;
        EXPECT_EQ(placed.told, expected.told) << "seed " << seed;
      }
    }
  }
}

// By number, not by the clock: with 50,000 in the queue a decision looks at few of them.
TEST(CpuJobs, ADecisionDoesNotLookAtAllWhoWait) {
  for (const int jobs : {1'000, 50'000}) {
    SnapshotBuilder s(ClusterBuilder().Node(0).Cores(2).Build());
    CpuLine line;
    for (int i = 0; i < jobs; ++i) {
      line.Update(*s, s.Waiting({.gpus = 0, .cores = 0.05, .user = 1}));
    }
    const Placed placed = Place(s, line, true);
    EXPECT_EQ(placed.starts.size(), 40U);
    EXPECT_EQ(placed.told.size(), 64U);
    EXPECT_LE(placed.looked_at, 40U + 64U + 1U);
  }
}

}  // namespace
}  // namespace sharewell::policy
