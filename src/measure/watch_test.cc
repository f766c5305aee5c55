#include "measure/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/host_metrics.h"
#include "measure/test_watch.h"

namespace sharewell::measure {
namespace {

using core::Seconds;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A framework that loads for ten seconds, on one core, before the progress file is opened.
Script LoadsFor(double seconds) {
  Script script;
  script.steps = [seconds](double t) { return std::max(0.0, t - seconds) * 100; };
  script.opens_late = true;
  return script;
}

class WatchTest : public testing::Test {
 protected:
  RunSpec Spec(const std::string& name) {
    RunSpec spec;
    spec.name = name;
    spec.command = {"train", name};
    return spec;
  }
  WatchOptions Options(FakeWorld& world, FakeCollector::Read read) {
    WatchOptions options;
    options.world = &world;
    options.collectors = [&world, read](collect::JobSource&) {
      std::vector<std::unique_ptr<collect::Collector>> collectors;
      collectors.push_back(std::make_unique<FakeCollector>(world, read));
      return collectors;
    };
    return options;
  }
  // A job that keeps `cores` busy.
  static FakeCollector::Read Cores(double cores) {
    return [cores](double now, std::vector<core::Reading>& out) -> core::Result<void> {
      out.push_back({&collect::kJobCpuSeconds, "", "a", 5 + cores * now});
      out.push_back({&collect::kJobResidentBytes, "", "a", 1e6 * (1 + now)});
      return {};
    };
  }
  // A window of 3 s of a job that loads for so long.
  core::ProfileRecord ShortLook(double loading, bool promised) {
    FakeWorld world({LoadsFor(loading)});
    RunSpec spec = Spec("a");
    spec.throughput.promised = promised;
    auto options = Options(world, Cores(1));
    options.until = Until::kFor;
    options.window = Seconds(3);
    return One(Watch({&spec, 1}, options));
  }

  static core::ProfileRecord One(const core::Result<Watched>& watched) {
    EXPECT_TRUE(watched) << watched.error().message;
    if (!watched || watched->records.empty()) return {};
    return watched->records.front();
  }
};

TEST_F(WatchTest, StopsOnceStepsHaveSettled) {
  // Nothing for 8 s, then 20 steps a second.
  FakeWorld world({{.steps = [](double t) { return t < 8 ? 0 : 20 * (t - 8); }}});
  const RunSpec spec = Spec("a");
  const auto watched = Watch({&spec, 1}, Options(world, Cores(1.5)));
  const auto record = One(watched);
  EXPECT_NEAR(*record.profile.steps_per_second, 20, 0.2);
  EXPECT_NEAR(*record.profile.cpu_cores, 1.5, 1e-6);
  EXPECT_EQ(record.throughput_source, "progress file");
  EXPECT_TRUE(record.settled);
  EXPECT_LT(*record.uncertainty, 0.02);
  EXPECT_GE(record.warmup, Seconds(8));
  EXPECT_LE(record.warmup, Seconds(12));
  EXPECT_GE(record.window, Seconds(5));
  EXPECT_LT(world.now, 30);
  EXPECT_FALSE(record.exit_code);
  EXPECT_EQ(record.created, static_cast<core::UnixMillis>(kEpoch * 1000));
  EXPECT_EQ(world.stops, 1);
  EXPECT_EQ(world.alive, 0);
  EXPECT_FALSE(watched->interrupted);
  EXPECT_TRUE(record.notes.empty()) << record.notes.front();
}

TEST_F(WatchTest, RunsForAsLongAsAsked) {
  FakeWorld world({{.steps = [](double t) { return 10 * t; }}});
  const RunSpec spec = Spec("a");
  auto options = Options(world, Cores(1));
  options.until = Until::kFor;
  options.window = Seconds(20);
  const auto record = One(Watch({&spec, 1}, options));
  EXPECT_NEAR(record.window.value, 20, 1.1);
  EXPECT_NEAR(*record.profile.steps_per_second, 10, 0.1);
}

TEST_F(WatchTest, AShortLookIsAsLongAsAskedOrSixReadings) {
  const auto looked = [&](double window, double interval) {
    FakeWorld world({{.steps = [](double t) { return 100 * t; }, .before = 0.004}});
    const RunSpec spec = Spec("a");
    auto options = Options(world, Cores(1));
    options.until = Until::kFor;
    options.window = Seconds(window);
    options.interval = Seconds(interval);
    const auto record = One(Watch({&spec, 1}, options));
    EXPECT_TRUE(record.uncertainty) << window << " at " << interval;
    return record.window.value;
  };
  EXPECT_NEAR(looked(4, 0.5), 4, 0.1);
  EXPECT_NEAR(looked(3.5, 0.5), 3.5, 0.1);
  EXPECT_NEAR(looked(7, 1), 7, 0.1);
  EXPECT_NEAR(looked(6, 1), 6, 0.1);
  EXPECT_NEAR(looked(3, 1), 6, 0.1);
  EXPECT_NEAR(looked(0.5, 0.5), 3, 0.1);
}

TEST_F(WatchTest, AGivenWarmupIsTaken) {
  FakeWorld world({Script{}});
  const RunSpec spec = Spec("a");
  auto options = Options(world, Cores(1));
  options.until = Until::kFor;
  options.window = Seconds(10);
  options.warmup = Seconds(7);
  const auto record = One(Watch({&spec, 1}, options));
  EXPECT_NEAR(record.warmup.value, 7, 0.01);
  EXPECT_NEAR(record.window.value, 10, 0.6);
}

TEST_F(WatchTest, WithoutStepsCpuTimeTells) {
  FakeWorld world({Script{}});
  const RunSpec spec = Spec("a");
  const auto record = One(Watch({&spec, 1}, Options(world, Cores(0.5))));
  EXPECT_TRUE(record.settled);
  EXPECT_EQ(record.throughput_source, "none");
  EXPECT_FALSE(record.profile.steps_per_second);
  EXPECT_GE(record.window, Seconds(15));
}

TEST_F(WatchTest, ToTheEndHasTheJobsOwnExitCode) {
  FakeWorld world({{.ends = 60.5, .code = 3, .steps = [](double t) { return 10 * t; }}});
  const RunSpec spec = Spec("a");
  auto options = Options(world, Cores(1));
  options.until = Until::kEnd;
  const auto record = One(Watch({&spec, 1}, options));
  EXPECT_EQ(record.exit_code, 3);
  EXPECT_NEAR(record.window.value, 60, 3);
  EXPECT_TRUE(record.settled);
}

TEST_F(WatchTest, OneThatDiesAtOnceIsSaid) {
  FakeWorld world({{.ends = 0.3, .code = 7}});
  const RunSpec spec = Spec("a");
  const auto record = One(Watch({&spec, 1}, Options(world, Cores(1))));
  EXPECT_EQ(record.exit_code, 7);
  EXPECT_FALSE(record.settled);
  EXPECT_NEAR(record.window.value, 0.3, 0.05);
  EXPECT_THAT(record.notes, ElementsAre(HasSubstr("ended after 0.3 s, before a steady state")));
  EXPECT_FALSE(record.figures.empty());  // it was read early on
}

TEST_F(WatchTest, LoadingIsNotTakenForAShortSteadyState) {
  const auto record = ShortLook(10, false);
  EXPECT_NEAR(record.profile.steps_per_second.value_or(0), 100, 2);
  EXPECT_GE(record.warmup, Seconds(10));
}

TEST_F(WatchTest, StepsThatArePromisedAreWaitedFor) {
  const auto record = ShortLook(40, true);
  EXPECT_NEAR(record.profile.steps_per_second.value_or(0), 100, 2);
  EXPECT_GE(record.warmup, Seconds(40));
}

TEST_F(WatchTest, OneThatNeverSettlesIsSaid) {
  // The rate doubles every ten seconds.
  FakeWorld world({{.steps = [](double t) { return 1000 * std::exp2(t / 10); }}});
  const RunSpec spec = Spec("a");
  auto options = Options(world, Cores(1));
  options.at_most = Seconds(60);
  const auto record = One(Watch({&spec, 1}, options));
  EXPECT_FALSE(record.settled);
  EXPECT_NEAR(world.now, 60, 1);
  EXPECT_THAT(record.notes, testing::Contains(AnyOf(HasSubstr("no steady state in 60 s"),
                                                    HasSubstr("had not settled"))));
}

TEST_F(WatchTest, NoiseThatDoesNotSettleIsNotWaitedForForever) {
  // Each second has a rate of its own, between 0 and 2,000.
  FakeWorld world({{.steps = [](double t) {
    double steps = 0;
    for (std::uint64_t second = 1; static_cast<double>(second) <= t; ++second) {
      steps += static_cast<double>(second * 0x9E3779B97F4A7C15ULL >> 32) / 4294967296.0 * 2000;
    }
    return steps;
  }}});
  const RunSpec spec = Spec("a");
  const auto record = One(Watch({&spec, 1}, Options(world, Cores(1))));
  EXPECT_FALSE(record.settled);
  EXPECT_LT(world.now, 260);
  EXPECT_NEAR(*record.profile.steps_per_second, 1000, 200);
  EXPECT_THAT(record.notes, ElementsAre(HasSubstr("had not settled")));
}

TEST_F(WatchTest, SlowStepsTakeTheirTime) {
  FakeWorld world({{.steps = [](double t) { return t / 4; }}});
  const RunSpec spec = Spec("a");
  const auto record = One(Watch({&spec, 1}, Options(world, Cores(1))));
  EXPECT_NEAR(*record.profile.steps_per_second, 0.25, 1e-3);
  EXPECT_TRUE(record.settled);
  EXPECT_GE(record.window, Seconds(16));
}

TEST_F(WatchTest, OneThatIgnoresSigtermIsSaid) {
  FakeWorld world({{.stubborn = true, .steps = [](double t) { return 10 * t; }}});
  const RunSpec spec = Spec("a");
  const auto record = One(Watch({&spec, 1}, Options(world, Cores(1))));
  EXPECT_THAT(record.notes, ElementsAre(HasSubstr("ignored SIGTERM for 10 s")));
}

TEST_F(WatchTest, ACommandThatCannotStartStopsTheOthers) {
  FakeWorld world({{}, {.starts = false}});
  const std::vector<RunSpec> specs = {Spec("a"), Spec("b")};
  const auto watched = Watch(specs, Options(world, Cores(1)));
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().kind, core::ErrorKind::kUsage);
  EXPECT_EQ(world.alive, 0);
}

TEST_F(WatchTest, SeveralShareOneWindowInWhichAllAreSteady) {
  FakeWorld world({{.steps = [](double t) { return 10 * t; }},
                   {.steps = [](double t) { return t < 20 ? 0 : 30 * (t - 20); }}});
  const std::vector<RunSpec> specs = {Spec("a"), Spec("b")};
  const auto watched = Watch(specs, Options(world, Cores(1)));
  ASSERT_TRUE(watched);
  ASSERT_EQ(watched->records.size(), 2U);
  const auto &a = watched->records[0], &b = watched->records[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.warmup, b.warmup);
  EXPECT_EQ(a.window, b.window);
  EXPECT_GE(b.warmup, Seconds(20));
  EXPECT_NEAR(*a.profile.steps_per_second, 10, 0.1);
  EXPECT_NEAR(*b.profile.steps_per_second, 30, 0.3);
  EXPECT_TRUE(a.profile.cpu_cores);
  EXPECT_FALSE(b.profile.cpu_cores);  // the collector told of a alone
}

TEST_F(WatchTest, WhenOneOfSeveralEndsTheWindowIsOver) {
  FakeWorld world({{.ends = 40.5, .steps = [](double t) { return 10 * std::exp2(t / 10); }}, {}});
  const std::vector<RunSpec> specs = {Spec("a"), Spec("b")};
  const auto watched = Watch(specs, Options(world, Cores(1)));
  ASSERT_TRUE(watched);
  EXPECT_NEAR(world.now, 40.5, 0.1);
  EXPECT_EQ(watched->records[0].exit_code, 0);
  EXPECT_FALSE(watched->records[1].exit_code);
  EXPECT_EQ(watched->records[1].window.value, watched->records[0].window.value);
}

TEST_F(WatchTest, SignalsArePassedOnAndTheSecondEndsIt) {
  FakeWorld world({Script{}});
  world.signals = {3, 5};
  const RunSpec spec = Spec("a");
  const auto watched = Watch({&spec, 1}, Options(world, Cores(1)));
  const auto record = One(watched);
  EXPECT_TRUE(watched->interrupted);
  EXPECT_THAT(world.passed, ElementsAre(SIGINT, SIGINT));
  EXPECT_LT(world.now, 7);
  EXPECT_THAT(record.notes, ElementsAre(HasSubstr("before a steady state")));
}

TEST_F(WatchTest, AStopTokenEndsIt) {
  FakeWorld world({Script{}});
  std::stop_source source;
  auto options = Options(world, Cores(1));
  options.stop = source.get_token();
  options.line = [&](const WatchLine& line) {
    if (line.elapsed >= Seconds(3)) source.request_stop();
  };
  const RunSpec spec = Spec("a");
  const auto watched = Watch({&spec, 1}, options);
  ASSERT_TRUE(watched);
  EXPECT_TRUE(watched->interrupted);
  EXPECT_LT(world.now, 5);
}

TEST_F(WatchTest, ACollectorThatFailsIsNotedAndTheRestGoesOn) {
  FakeWorld world({{.steps = [](double t) { return 10 * t; }}});
  const auto read = [](double now, std::vector<core::Reading>& out) -> core::Result<void> {
    out.push_back({&collect::kMemoryUsedBytes, "", "", 1e9});
    if (now > 3) return core::FailedError("the bus is gone");
    return {};
  };
  const RunSpec spec = Spec("a");
  const auto record = One(Watch({&spec, 1}, Options(world, read)));
  EXPECT_THAT(record.notes, ElementsAre(HasSubstr("the bus is gone")));
  EXPECT_NEAR(*record.profile.steps_per_second, 10, 0.1);
}

TEST_F(WatchTest, AGpusFiguresAreTheJobsWhenItIsAlone) {
  FakeWorld world({{.steps = [](double t) { return 10 * t; }}});
  const auto read = [](double now, std::vector<core::Reading>& out) -> core::Result<void> {
    const bool runs = now > 0;
    out.push_back({&collect::kGpuBusy, "0", "", runs ? 0.97 : 0.0});
    out.push_back({&collect::kGpuSm, "0", "", 0.8});
    out.push_back({&collect::kGpuDram, "0", "", 0.4});
    out.push_back({&collect::kGpuMemoryUsed, "0", "", runs ? 6e9 : 1e9});
    out.push_back({&collect::kGpuEnergy, "0", "", 500 * now});
    return {};
  };
  const RunSpec spec = Spec("a");
  const auto record = One(Watch({&spec, 1}, Options(world, read)));
  EXPECT_NEAR(*record.profile.busy, 0.97, 1e-9);
  EXPECT_NEAR(*record.profile.sm, 0.8, 1e-9);
  EXPECT_NEAR(record.profile.gpu_memory->value, 5e9, 1);
  EXPECT_NEAR(record.profile.power->value, 500, 1e-6);
  EXPECT_THAT(record.bound_by, HasSubstr("gpu: busy 97 %"));
}

TEST_F(WatchTest, SamplesAndLinesAreHandedOut) {
  FakeWorld world({{.steps = [](double t) { return 10 * t; }}});
  auto options = Options(world, Cores(2));
  std::vector<core::UnixMillis> times;
  std::vector<WatchLine> lines;
  options.sample = [&](const core::Batch& batch) { times.push_back(batch.time); };
  options.line = [&](const WatchLine& line) { lines.push_back(line); };
  const RunSpec spec = Spec("a");
  ASSERT_TRUE(Watch({&spec, 1}, options));
  EXPECT_GT(times.size(), 5U);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  ASSERT_GT(lines.size(), 3U);
  EXPECT_EQ(lines.front().state, WatchLine::State::kWarming);
  EXPECT_EQ(lines.back().state, WatchLine::State::kStopping);
  EXPECT_NEAR(*lines.back().jobs[0].steps_per_second, 10, 0.2);
  EXPECT_NEAR(*lines.back().jobs[0].cpu_cores, 2, 1e-6);
}

TEST_F(WatchTest, RefusesWhatCannotBeRun) {
  FakeWorld world({Script{}});
  const auto options = Options(world, Cores(1));
  EXPECT_FALSE(Watch({}, options));
  EXPECT_FALSE(Watch(std::vector<RunSpec>{Spec("")}, options));
  EXPECT_FALSE(Watch(std::vector<RunSpec>{Spec("a"), Spec("a")}, options));
  RunSpec bad = Spec("a");
  bad.throughput = {ThroughputSource::Kind::kSteps, "(("};
  EXPECT_EQ(Watch({&bad, 1}, options).error().kind, core::ErrorKind::kUsage);
  EXPECT_EQ(world.started, 0U);
}

TEST_F(WatchTest, RunsOnThisMachine) {
  RunSpec spec = Spec("a");
  spec.command = {"sh", "-c", "for i in 1 2 3; do echo $i >> $SHAREWELL_PROGRESS; done; exit 4"};
  WatchOptions options;
  options.until = Until::kEnd;
  const auto record = One(Watch({&spec, 1}, options));
  EXPECT_EQ(record.exit_code, 4);
  EXPECT_EQ(record.throughput_source, "progress file");
}

core::ProfileRecord Repeat(double steps, double memory) {
  core::ProfileRecord record;
  record.profile.steps_per_second = steps;
  record.profile.host_memory = core::Bytes(memory);
  record.settled = true;
  record.window = Seconds(10);
  record.figures = {{.metric = "m",
                     .instance = "",
                     .unit = "1",
                     .mean = steps,
                     .least = steps,
                     .most = steps,
                     .median = steps,
                     .p95 = steps,
                     .deviation = 0,
                     .readings = 5}};
  return record;
}

TEST(MergeRepeats, MeansOfRatesAndMostOfMemories) {
  const std::vector<core::ProfileRecord> records = {Repeat(9, 1), Repeat(10, 3), Repeat(11, 2)};
  const auto merged = MergeRepeats(records);
  EXPECT_EQ(merged.repeats, 3);
  EXPECT_DOUBLE_EQ(*merged.profile.steps_per_second, 10);
  EXPECT_DOUBLE_EQ(merged.profile.host_memory->value, 3);
  EXPECT_NEAR(*merged.uncertainty, 4.303 / std::sqrt(3.0) / 10, 1e-9);
  EXPECT_EQ(merged.window, Seconds(30));
  ASSERT_EQ(merged.figures.size(), 1U);
  EXPECT_DOUBLE_EQ(merged.figures[0].mean, 10);
  EXPECT_DOUBLE_EQ(merged.figures[0].least, 9);
  EXPECT_EQ(merged.figures[0].readings, 15);
  EXPECT_EQ(MergeRepeats(std::span(records).first(1)), records[0]);
}

}  // namespace
}  // namespace sharewell::measure
