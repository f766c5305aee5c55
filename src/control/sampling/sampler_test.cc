#include "control/sampling/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <utility>

namespace sharewell::control {
namespace {

using core::Seconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Standing = CollectorState::Standing;

constexpr core::Metric kLoad{.name = "load", .unit = "1", .instance = "", .help = "a test"};

class ManualClock : public Clock {
 public:
  nanoseconds Steady() override { return steady; }
  core::UnixMillis Wall() override { return wall; }
  void Pass(milliseconds time) {
    steady += time;
    wall += time.count();
  }

  nanoseconds steady = milliseconds(777);
  core::UnixMillis wall = 1'700'000'000'000;
};

// What it does next is the test's to say.
struct Script {
  std::string name = "fake";
  int asked = 0;
  bool fails = false;   // altogether
  bool partly = false;  // an error beside its reading
  double value = 1;
  milliseconds takes{0};
  Seconds floor{0};
  ManualClock* clock = nullptr;
};

class FakeCollector : public collect::Collector {
 public:
  explicit FakeCollector(Script& script) : script_(script) {}
  std::string_view Name() const override { return script_.name; }
  std::string_view Describe() const override { return "a test"; }
  collect::Health Probe() override { return {}; }
  core::Result<void> Collect(std::vector<core::Reading>& out) override {
    ++script_.asked;
    if (script_.clock != nullptr) script_.clock->Pass(script_.takes);
    if (script_.fails) return core::FailedError("it\nbroke");
    out.push_back({&kLoad, "", "", script_.value});
    if (script_.partly) return core::FailedError("half of it is missing");
    return {};
  }
  Seconds Floor() const override { return script_.floor; }

 private:
  Script& script_;
};

class SamplerTest : public ::testing::Test {
 protected:
  Sampler Make(const std::vector<std::pair<Script*, Seconds>>& scripts) {
    std::vector<Watched> watched;
    for (const auto& [script, interval] : scripts) {
      watched.push_back({std::make_unique<FakeCollector>(*script), interval});
    }
    const auto sink = [this](const CollectorState& state,
                             const std::shared_ptr<const core::Batch>& batch) {
      taken_.emplace_back(state, batch);
    };
    const auto say = [this](const std::string& line) { said_.push_back(line); };
    return Sampler(std::move(watched), {sink}, say, clock_);
  }
  // Steps as the thread would, for so long.
  void RunFor(Sampler& sampler, milliseconds time) {
    const nanoseconds end = clock_.steady + time;
    while (clock_.steady < end) {
      const double pause = sampler.Step().value;
      clock_.Pass(std::max(milliseconds(1), milliseconds(std::llround(pause * 1e3))));
    }
  }

  ManualClock clock_;
  std::vector<std::pair<CollectorState, std::shared_ptr<const core::Batch>>> taken_;
  std::vector<std::string> said_;
};

TEST_F(SamplerTest, EachAtItsOwnIntervalOnOneGrid) {
  Script fast{.name = "fast"}, slow{.name = "slow"},
      floored{.name = "floored", .floor = Seconds(5)};
  auto sampler = Make({{&fast, Seconds(1)}, {&slow, Seconds(2)}, {&floored, Seconds(1)}});
  int wakes = 0;
  for (const nanoseconds end = clock_.steady + milliseconds(9500); clock_.steady < end; ++wakes) {
    clock_.Pass(milliseconds(std::llround(sampler.Step().value * 1e3)));
  }
  EXPECT_EQ(fast.asked, 10);
  EXPECT_EQ(slow.asked, 5);
  EXPECT_EQ(floored.asked, 2);
  EXPECT_EQ(wakes, 10);  // those of `slow` and `floored` fell together with those of `fast`
}

TEST_F(SamplerTest, TimesRiseByTheInterval) {
  Script script;
  auto sampler = Make({{&script, Seconds(1)}});
  RunFor(sampler, milliseconds(4000));
  ASSERT_EQ(taken_.size(), 4U);
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    EXPECT_EQ(taken_[i].second->time, 1'700'000'000'000 + static_cast<std::int64_t>(i) * 1000);
  }
}

TEST_F(SamplerTest, AFailureIsCountedSaidOnceAndStopsNobody) {
  Script bad{.name = "bad", .fails = true}, good{.name = "good"};
  auto sampler = Make({{&bad, Seconds(1)}, {&good, Seconds(1)}});
  RunFor(sampler, milliseconds(200'000));
  EXPECT_EQ(good.asked, 200);
  // 1, 2, 4, 8, 16 and then 32 s apart: far less than 200 times.
  EXPECT_GE(bad.asked, 8);
  EXPECT_LE(bad.asked, 12);
  EXPECT_THAT(said_, ElementsAre("bad: down: it broke", "good: works"));
  const auto states = sampler.States();
  EXPECT_FALSE(states[0].Up());
  EXPECT_EQ(states[0].errors, bad.asked);
  EXPECT_EQ(states[0].problem, "it broke");
  EXPECT_TRUE(states[1].Up());
  EXPECT_EQ(states[1].errors, 0);
  for (const auto& [state, batch] : taken_) {
    if (state.name != "bad") continue;
    EXPECT_TRUE(batch->readings.empty());
  }

  bad.fails = false;
  RunFor(sampler, milliseconds(100'000));
  EXPECT_EQ(said_.back(), "bad: works again");
  EXPECT_TRUE(sampler.States()[0].Up());
  EXPECT_GT(bad.asked, 60);  // at its own interval again
}

TEST_F(SamplerTest, PartOfASourceIsStillASource) {
  Script script{.partly = true};
  auto sampler = Make({{&script, Seconds(1)}});
  RunFor(sampler, milliseconds(5000));
  EXPECT_EQ(script.asked, 5);
  EXPECT_THAT(said_, ElementsAre("fake: works in part: half of it is missing"));
  EXPECT_EQ(sampler.States()[0].standing, Standing::kPartly);
  EXPECT_EQ(sampler.States()[0].errors, 5);
  EXPECT_EQ(taken_.back().second->readings.size(), 1U);
}

TEST_F(SamplerTest, AFlappingCollectorIsNoNewsEverySecond) {
  Script script;
  auto sampler = Make({{&script, Seconds(1)}});
  for (int i = 0; i < 300; ++i) {
    script.partly = i % 2 == 1;
    RunFor(sampler, milliseconds(1000));
  }
  EXPECT_LE(said_.size(), 6U);
  EXPECT_GE(said_.size(), 2U);
}

TEST_F(SamplerTest, TicksThatWereMissedAreSkippedNotMadeUpFor) {
  Script script{.takes = milliseconds(2500), .clock = &clock_};
  auto sampler = Make({{&script, Seconds(1)}});
  sampler.Step();
  EXPECT_EQ(sampler.States()[0].skipped, 2);
  EXPECT_DOUBLE_EQ(sampler.States()[0].last_duration.value, 2.5);
  EXPECT_NEAR(sampler.Step().value, 0.5, 1e-9);  // not due before the next line of the grid
  EXPECT_EQ(script.asked, 1);
  RunFor(sampler, milliseconds(12'000));
  EXPECT_EQ(script.asked, 5);
  EXPECT_THAT(said_, ElementsAre("fake: works", HasSubstr("fake: takes long: 2500 ms")));
}

TEST_F(SamplerTest, AJumpOfTheClockIsSaidAndFollowed) {
  Script script;
  auto sampler = Make({{&script, Seconds(1)}});
  RunFor(sampler, milliseconds(2000));
  clock_.wall += 3'600'000;
  RunFor(sampler, milliseconds(1000));
  EXPECT_EQ(taken_.back().second->time, 1'700'000'000'000 + 3'602'000);
  EXPECT_EQ(said_.back(), "the clock was set forward by 3600.0 s; samples follow it");
  clock_.wall -= 7'200'000;
  RunFor(sampler, milliseconds(1000));
  EXPECT_EQ(taken_.back().second->time, 1'700'000'000'000 - 3'600'000 + 3000);
  EXPECT_EQ(said_.back(), "the clock was set back by 7200.0 s; samples follow it");
}

TEST_F(SamplerTest, ASmallStepOfTheClockIsWorkedOffAndTimesStillRise) {
  Script script;
  auto sampler = Make({{&script, Seconds(0.1)}});
  RunFor(sampler, milliseconds(1000));
  clock_.wall -= 900;
  RunFor(sampler, milliseconds(20'000));
  for (std::size_t i = 1; i < taken_.size(); ++i) {
    EXPECT_GT(taken_[i].second->time, taken_[i - 1].second->time);
  }
  EXPECT_NEAR(static_cast<double>(taken_.back().second->time),
              static_cast<double>(clock_.wall - 100), 2);
  EXPECT_EQ(said_.size(), 1U);
}

TEST_F(SamplerTest, WhatIsNoNumberIsLeftOut) {
  Script script{.value = std::numeric_limits<double>::quiet_NaN()};
  auto sampler = Make({{&script, Seconds(1)}});
  sampler.Step();
  EXPECT_TRUE(taken_.back().second->readings.empty());
}

TEST_F(SamplerTest, WithoutCollectorsItOnlyWaits) {
  auto sampler = Make({});
  EXPECT_GT(sampler.Step().value, 0);
}

TEST(SamplerThread, StopsWhenAskedAndIsReadFromOutside) {
  Script script;
  std::vector<Watched> watched;
  watched.push_back({std::make_unique<FakeCollector>(script), Seconds(0.001)});
  watched.push_back({std::make_unique<FakeCollector>(script), Seconds(3600)});
  std::atomic<int> batches = 0;
  Sampler sampler(std::move(watched), {[&](const auto&, const auto&) { ++batches; }},
                  [](const auto&) {});
  {
    const std::jthread thread([&](const std::stop_token& stop) { sampler.Run(stop); });
    while (batches < 20) std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(sampler.States().size(), 2U);
  }
  EXPECT_GE(sampler.States()[0].asked, 19);
}

TEST(OwnCost, IsKnownOnLinux) {
  const AgentCost cost = OwnCost();
  EXPECT_GT(cost.cpu.value, 0);
  ASSERT_TRUE(cost.resident);
  EXPECT_GT(cost.resident->value, 1e6);
}

}  // namespace
}  // namespace sharewell::control
