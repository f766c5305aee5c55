#include "policy/generations/generations.h"

#include <gmock/gmock.h>

#include "policy/generations/exchange.h"
#include "policy/generations/market.h"
#include "testing/builders.h"
#include "testing/random_case.h"

namespace sharewell::policy {
namespace {

using core::JobId;
using fixtures::ClusterBuilder;
using fixtures::JobSpec;
using fixtures::SnapshotBuilder;
using ::testing::ElementsAre;
using ::testing::SizeIs;

core::Cluster FastAndSlow() {
  return ClusterBuilder().Model("fast").Model("slow").Node(1).Node(1, 1).Build();
}

std::optional<core::Plan> PlanOf(SnapshotBuilder& s) {
  static const auto model = fixtures::WithoutResidual();
  Options options;
  options.interference = &model;
  return PlanGenerations(*s, options, *NewSlimSizing());
}

TEST(Generations, EachJobGetsTheModelItIsWorth) {
  SnapshotBuilder s(FastAndSlow());
  const JobId low = s.Waiting({.seconds = 1000, .busy = 1, .sm = 1, .rates = {1, 0.95}});
  const JobId high = s.Waiting({.seconds = 1000, .busy = 1, .sm = 1, .rates = {1, 0.2}});
  const auto plan = PlanOf(s);
  ASSERT_TRUE(plan);
  ASSERT_THAT(plan->starts, SizeIs(2));
  for (const auto& start : plan->starts) {
    EXPECT_EQ(start.to.gpus.front().index(), start.job == high ? 0U : 1U) << low.value;
  }
  EXPECT_EQ(plan->wake_at, core::Seconds(1200));
}

// A restart costs 30 s: a job with 40 s left does not earn it back on a GPU twice as fast.
TEST(Generations, WhatEndsSoonStays) {
  for (const double seconds : {20.0, 4000.0}) {
    SnapshotBuilder s(FastAndSlow());
    s.Running({.seconds = seconds, .busy = 1, .sm = 1, .rates = {1, 0.5}}, {1});
    const auto plan = PlanOf(s);
    ASSERT_TRUE(plan);
    EXPECT_THAT(plan->moves, SizeIs(seconds > 1000 ? 1 : 0)) << seconds;
    EXPECT_THAT(plan->stops, SizeIs(0));
  }
}

TEST(Generations, IsNotTheWayForEverything) {
  const auto planned = [](core::Cluster cluster, const JobSpec& spec) {
    SnapshotBuilder s(std::move(cluster));
    s.Waiting({});
    s.Waiting(spec);
    return PlanOf(s).has_value();
  };
  EXPECT_TRUE(planned(FastAndSlow(), {}));
  EXPECT_FALSE(planned(ClusterBuilder().Node(2).Build(), {})) << "one model";
  EXPECT_FALSE(planned(FastAndSlow(), {.gpus = 2}));
  EXPECT_FALSE(planned(FastAndSlow(), {.gpus = 0}));
  EXPECT_FALSE(planned(FastAndSlow(), {.exclusive = true}));
  EXPECT_FALSE(planned(FastAndSlow(), {.priority = 1}));
  EXPECT_FALSE(planned(FastAndSlow(), {.sm_share = 0.5}));
  EXPECT_FALSE(planned(FastAndSlow(), {.duration_known = false}));
  EXPECT_FALSE(
      planned(ClusterBuilder().Model("a").Model("b").Nodes(40, 1).Nodes(40, 1, 1).Build(), {}));
}

TEST(Market, PricesBoundTheMakespanFromBelow) {
  // One GPU of each model, two kinds of 100 s of work; each is at home on one of them.
  Market market;
  market.gpus = {1, 1};
  market.work = {100, 100};
  market.alone = {{1, 0.25}, {0.25, 1}};
  market.beside.assign(2, {{0, 0}, {0, 0}});
  const Prices prices = FindPrices(market);
  EXPECT_LE(prices.drain, 100 + 1e-9);
  EXPECT_GT(prices.drain, 95) << "and closely";
}

TEST(Exchange, SeatsNobodyTwiceAndNoForbiddenPair) {
  fixtures::Dice dice(6);
  for (int round = 0; round < 200; ++round) {
    const auto kinds = static_cast<std::size_t>(dice.Between(1, 4));
    const auto models = static_cast<std::size_t>(dice.Between(1, 3));
    Market market;
    market.work.assign(kinds, 1);
    for (std::size_t m = 0; m < models; ++m) {
      market.gpus.push_back(0);
      auto& alone = market.alone.emplace_back();
      for (std::size_t k = 0; k < kinds; ++k)
        alone.push_back(dice.Chance(0.1) ? 0 : dice.Uniform(0.1, 2));
      auto& beside = market.beside.emplace_back(kinds, std::vector<double>(kinds, 0.0));
      for (std::size_t a = 0; a < kinds; ++a) {
        for (std::size_t b = a; b < kinds; ++b) {
          if (dice.Chance(0.3) || alone[a] <= 0 || alone[b] <= 0) continue;
          beside[a][b] = alone[a] * dice.Uniform(0.5, 1);
          beside[b][a] = alone[b] * dice.Uniform(0.5, 1);
        }
      }
    }
    std::vector<std::size_t> model_of;
    for (int g = dice.Between(1, 5); g > 0; --g) {
      model_of.push_back(static_cast<std::size_t>(dice.Between(0, static_cast<int>(models) - 1)));
      ++market.gpus[model_of.back()];
    }
    std::vector<ExchangeJob> jobs;
    std::vector<int> on(model_of.size(), 0);
    for (int j = dice.Between(1, 10); j > 0; --j) {
      ExchangeJob job;
      job.kind = static_cast<std::size_t>(dice.Between(0, static_cast<int>(kinds) - 1));
      job.weight = dice.Uniform(0.1, 3);
      const int gpu = dice.Between(0, static_cast<int>(model_of.size()) - 1);
      const auto g = static_cast<std::size_t>(gpu);
      if (dice.Chance(0.5) && on[g] == 0 && market.alone[model_of[g]][job.kind] > 0) {
        ++on[g];
        job.gpu = gpu;
        job.stays = dice.Uniform(0, 0.2);
      }
      jobs.push_back(job);
    }
    const auto seats = Exchange(market, jobs, model_of);
    ASSERT_THAT(seats, SizeIs(model_of.size()));
    std::vector<int> seated(jobs.size(), 0);
    for (std::size_t g = 0; g < seats.size(); ++g) {
      const auto kind = [&](int who) { return jobs[static_cast<std::size_t>(who)].kind; };
      const auto [a, b] = std::pair(seats[g][0], seats[g][1]);
      for (int who : {a, b}) {
        if (who != kNobody) ++seated[static_cast<std::size_t>(who)];
      }
      if (a != kNobody && b != kNobody) {
        EXPECT_GT(market.beside[model_of[g]][kind(a)][kind(b)], 0);
      } else if (a != kNobody || b != kNobody) {
        EXPECT_GT(market.alone[model_of[g]][kind(a == kNobody ? b : a)], 0);
      }
    }
    for (int times : seated) EXPECT_LE(times, 1);
    EXPECT_EQ(seats, Exchange(market, jobs, model_of)) << "the same input, the same seats";
  }
}

}  // namespace
}  // namespace sharewell::policy
