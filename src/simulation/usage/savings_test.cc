// What sharing saved, by hand: small histories, and what exclusive slots would have made of them.
#include "simulation/usage/savings.h"

#include <gmock/gmock.h>

#include "core/numbers/random.h"
#include "simulation/replay/test_records.h"

namespace sharewell::simulation {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr double kHour = 3600;

// A row of draws.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  double Uniform() { return core::Uniform(core::HashOf({seed_, ++drawn_})); }
  std::uint64_t Below(std::uint64_t most) { return core::HashOf({seed_, ++drawn_}) % most; }

 private:
  std::uint64_t seed_, drawn_ = 0;
};

core::Cluster Powered(int gpus) {
  core::GpuModel model = OneGpu().models().front();
  model.idle_power = core::Watts(100);
  model.power_limit = core::Watts(500);
  core::Node node;
  node.name = "n1";
  node.model = core::GpuModelId(0);
  node.gpus = gpus;
  return core::Cluster({model}, {node});
}

// On GPU `gpu` from `started` to `ended`, in hours; its work alone takes `alone` of them.
core::JobRecord Stayed(std::int64_t number, double submitted, double started, double ended,
                       double alone, int gpu = 0) {
  core::JobRecord job =
      Ended(RecordOf(number, submitted * kHour, 0.5), started * kHour, ended * kHour);
  job.resumed = job.started;
  job.gpus = {GivenGpus(gpu + 1).back()};
  job.alone_time = core::Seconds(alone * kHour);
  job.seen.power = core::Watts(300);
  return job;
}

Savings SavingsOn(const std::vector<core::JobRecord>& records, int gpus, double from = -1,
                  double to = 1000) {
  const TimeSpan time{At(from * kHour), At(to * kHour)};
  const auto pointers = PointersTo(records);
  return SavingsOf(GpuTimeOf(pointers, Powered(gpus), GivenGpus(gpus), time), time);
}

TEST(Savings, TwoJobsThatShareAnHourEachWouldHaveTakenTwo) {
  // Side by side for an hour at full speed; alone one after the other.
  const auto savings = SavingsOn({Stayed(1, 0, 0, 1, 1), Stayed(2, 0, 0, 1, 1)}, 1);
  EXPECT_EQ(savings.jobs, 2U);
  EXPECT_EQ(savings.shared, 2U);
  EXPECT_EQ(savings.really.gpu_hours, 1);
  EXPECT_EQ(savings.exclusive.gpu_hours, 2);
  EXPECT_THAT(savings.really.makespan, Optional(kHour));
  EXPECT_THAT(savings.exclusive.makespan, Optional(2 * kHour));
  EXPECT_THAT(savings.really.jct_mean, Optional(kHour));
  EXPECT_THAT(savings.exclusive.jct_mean, Optional(1.5 * kHour));
  EXPECT_THAT(savings.really.wait_mean, Optional(0.0));
  EXPECT_THAT(savings.exclusive.wait_mean, Optional(0.5 * kHour));
  // 100 W idle and twice 200 W above it, for an hour; against twice 300 W for an hour.
  EXPECT_THAT(savings.really.energy_kwh, Optional(DoubleNear(0.5, 1e-12)));
  EXPECT_THAT(savings.exclusive.energy_kwh, Optional(DoubleNear(0.6, 1e-12)));
  EXPECT_THAT(savings.remarks, IsEmpty());
}

TEST(Savings, AJobThatWasSlowedTakesItsTimeAlone) {
  // Slowed to a half: two hours for one. Sharing gave nothing then, and the power limit holds.
  const auto savings = SavingsOn({Stayed(1, 0, 0, 2, 1), Stayed(2, 0, 0, 2, 1)}, 1);
  EXPECT_EQ(savings.really.gpu_hours, 2);
  EXPECT_EQ(savings.exclusive.gpu_hours, 2);
  EXPECT_THAT(savings.exclusive.jct_mean, Optional(1.5 * kHour)) << "which is better than 2 h";
  EXPECT_THAT(savings.really.energy_kwh, Optional(DoubleNear(0.6, 1e-12)));
  EXPECT_THAT(savings.exclusive.energy_kwh, Optional(DoubleNear(0.6, 1e-12)));
}

TEST(Savings, ThePowerOfAGpuStaysBelowItsLimit) {
  const auto savings =
      SavingsOn({Stayed(1, 0, 0, 1, 1), Stayed(2, 0, 0, 1, 1), Stayed(3, 0, 0, 1, 1)}, 1);
  EXPECT_THAT(savings.really.energy_kwh, Optional(DoubleNear(0.5, 1e-12))) << "not 0.7";
  EXPECT_THAT(savings.exclusive.energy_kwh, Optional(DoubleNear(0.9, 1e-12)));
}

TEST(Savings, WhereAnotherGpuIsFreeTheSecondJobTakesIt) {
  const auto savings = SavingsOn({Stayed(1, 0, 0, 1, 1), Stayed(2, 0, 0, 1, 1)}, 2);
  EXPECT_EQ(savings.exclusive.gpu_hours, 2);
  EXPECT_THAT(savings.exclusive.makespan, Optional(kHour));
  EXPECT_THAT(savings.exclusive.jct_mean, Optional(kHour));
}

TEST(Savings, WhoWaitedForOthersStartsWhenTheyEndInTheReplay) {
  // 1 and 2 slow each other to a third, and 3 waits for them. Alone they are over after 2 h, and 3
  // begins as long after that as it did: a quarter of an hour.
  const auto savings =
      SavingsOn({Stayed(1, 0, 0, 3, 1), Stayed(2, 0, 0, 3, 1), Stayed(3, 0.5, 3.25, 4.25, 1)}, 1);
  EXPECT_THAT(savings.really.makespan, Optional(4.25 * kHour));
  EXPECT_THAT(savings.exclusive.makespan, Optional(3.25 * kHour));
}

TEST(Savings, AJobAfterAnotherStartsWhenThatOneEndsInTheReplay) {
  std::vector<core::JobRecord> jobs = {Stayed(1, 0, 0, 1, 1), Stayed(2, 0, 0, 1, 1),
                                       Stayed(3, 0, 1.25, 2.25, 1)};
  jobs[2].gpus = {{7, "of another kind", "B"}};  // which nobody else waits for
  jobs[2].asked.after = {2};
  const auto savings = SavingsOn(jobs, 1);
  EXPECT_THAT(savings.really.makespan, Optional(2.25 * kHour));
  EXPECT_THAT(savings.exclusive.makespan, Optional(3.25 * kHour)) << "2 ends an hour later";
}

TEST(Savings, AGangWaitsForAllItsGpusAndOthersFillTheGap) {
  core::JobRecord gang = Stayed(3, 0, 0, 1, 1);
  gang.gpus = GivenGpus(2);
  gang.asked.gpus = 2;
  // 1 and 2 shared GPU 0 for an hour, the gang joined them there and on GPU 1.
  const auto savings = SavingsOn({Stayed(1, 0, 0, 1, 1), Stayed(2, 0, 0, 0.5, 0.5, 1), gang}, 2);
  EXPECT_EQ(savings.really.gpu_hours, 2);
  EXPECT_EQ(savings.exclusive.gpu_hours, 1 + 0.5 + 2);
  EXPECT_THAT(savings.exclusive.makespan, Optional(2 * kHour));
}

TEST(Savings, OnlyWhatLiesInTheTimeCounts) {
  // Half of the shared hour is in it.
  const auto savings =
      SavingsOn({Stayed(1, 0, 0, 1, 1), Stayed(2, 0, 0, 1, 1)}, 1, /*from=*/0.5, /*to=*/10);
  EXPECT_EQ(savings.really.gpu_hours, 0.5);
  EXPECT_EQ(savings.exclusive.gpu_hours, 1);
  // One that still runs is cut at the end of it.
  const std::vector<core::JobRecord> live = {Stayed(1, 0, 0, 1, 1),
                                             Running(RecordOf(2, 0, 0.5), 0)};
  const auto cut = SavingsOn(live, 1, -1, 1);
  EXPECT_EQ(cut.exclusive.gpu_hours, 2);
  EXPECT_THAT(cut.remarks, Contains(HasSubstr("not over yet: 1 job")));
  EXPECT_THAT(cut.remarks, Contains(HasSubstr("taken to have run at full speed")));
  EXPECT_THAT(cut.remarks, Contains(HasSubstr("energy is unknown: of 1 of 2 jobs")));
  EXPECT_EQ(cut.really.energy_kwh, std::nullopt);
}

TEST(Savings, UnknownIsNotNought) {
  const auto none = SavingsOn({}, 1);
  EXPECT_EQ(none.jobs, 0U);
  EXPECT_EQ(none.really.energy_kwh, std::nullopt);
  EXPECT_EQ(none.really.makespan, std::nullopt);
  EXPECT_EQ(none.exclusive.jct_mean, std::nullopt);
  std::vector<core::JobRecord> jobs = {Stayed(1, 0, 0, 1, 1)};
  jobs[0].gpus = {{0, "gone", "never heard of"}};
  const auto gone = SavingsOn(jobs, 1);
  EXPECT_EQ(gone.really.gpu_hours, 1);
  EXPECT_EQ(gone.exclusive.energy_kwh, std::nullopt);
  EXPECT_THAT(gone.remarks, Contains(HasSubstr("draw when idle")));
}

// Random histories in which nobody shares: gangs, gaps, jobs that waited for nobody knows what.
TEST(Savings, OfAHistoryWithoutSharingAreExactlyNought) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Draws random(seed);
    const int gpus = 1 + static_cast<int>(random.Below(6));
    std::vector<double> free(static_cast<std::size_t>(gpus), 0);
    std::vector<core::JobRecord> jobs;
    for (int i = 0; i < 60; ++i) {
      const int many = 1 + static_cast<int>(random.Below(static_cast<std::uint64_t>(gpus)));
      const int first = static_cast<int>(random.Below(static_cast<std::uint64_t>(gpus - many + 1)));
      double start = 0;
      for (int g = first; g < first + many; ++g) {
        start = std::max(start, free[static_cast<std::size_t>(g)]);
      }
      if (random.Below(3) == 0) start += random.Uniform() * 3;
      const double length = random.Below(10) == 0 ? 0 : random.Uniform() * 5;
      const double submitted = start - (random.Below(2) == 0 ? 0 : random.Uniform() * 10);
      core::JobRecord job = Stayed(i + 1, submitted, start, start + length, 0.3 * length);
      job.gpus = GivenGpus(gpus);
      job.gpus = {job.gpus.begin() + first, job.gpus.begin() + first + many};
      job.asked.gpus = many;
      if (i > 5 && random.Below(4) == 0) {
        const auto& other = jobs[random.Below(jobs.size())];
        if (*other.ended <= *job.started) job.asked.after = {other.number};
      }
      for (int g = first; g < first + many; ++g) {
        free[static_cast<std::size_t>(g)] = start + length;
      }
      jobs.push_back(std::move(job));
    }
    const auto savings = SavingsOn(jobs, gpus, 4);
    EXPECT_EQ(savings.shared, 0U) << seed;
    EXPECT_EQ(savings.really, savings.exclusive) << seed;
    EXPECT_THAT(SavedOf(savings).energy_kwh, Optional(0.0)) << seed;
    EXPECT_EQ(SavedOf(savings).gpu_hours, 0) << seed;
  }
}

// Sharing at full speed saves what was shared, whatever else happened.
TEST(Savings, HeldHoursOfTheReplayAreTheWorkOfAllJobs) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Draws random(seed);
    std::vector<core::JobRecord> jobs;
    double work = 0;
    for (int i = 0; i < 80; ++i) {
      const double start = random.Uniform() * 20, length = 0.1 + random.Uniform() * 3;
      jobs.push_back(Stayed(i + 1, start - random.Uniform(), start, start + length, length,
                            static_cast<int>(random.Below(3))));
      work += static_cast<double>(*jobs.back().ended - *jobs.back().started) / 3600e3;
    }
    const auto savings = SavingsOn(jobs, 3);
    EXPECT_NEAR(savings.exclusive.gpu_hours, work, 1e-9) << seed;
    EXPECT_LE(savings.really.gpu_hours, savings.exclusive.gpu_hours) << seed;
    EXPECT_GE(*savings.exclusive.makespan, *savings.really.makespan) << seed;
  }
}

TEST(GpuTime, OverTimeTellsWhatWasHeldAndShared) {
  const std::vector<core::JobRecord> jobs = {Stayed(1, 0, 0, 2, 2), Stayed(2, 0, 1, 3, 2),
                                             Stayed(3, 0, 0, 1, 1, 1)};
  const TimeSpan time{At(0), At(4 * kHour)};
  const auto pointers = PointersTo(jobs);
  const GpuTime world = GpuTimeOf(pointers, Powered(2), GivenGpus(2), time);
  const auto bins = OverTime(world, time, 4);
  const auto hours = [](core::UnixMillis gpu) { return static_cast<double>(gpu) / 3600e3; };
  ASSERT_EQ(bins.size(), 4U);
  EXPECT_EQ(hours(bins[0].held), 2);
  EXPECT_EQ(hours(bins[0].shared), 0);
  EXPECT_EQ(hours(bins[1].held), 1);
  EXPECT_EQ(hours(bins[1].shared), 1);
  EXPECT_EQ(hours(bins[2].held), 1);
  EXPECT_EQ(hours(bins[3].held), 0);
}

}  // namespace
}  // namespace sharewell::simulation
