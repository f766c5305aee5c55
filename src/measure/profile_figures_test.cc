#include "measure/profile_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::measure {
namespace {

using core::Metric;
using core::Reading;
using core::Seconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr Span kAll{Seconds(0), Seconds(1e9)};

TEST(ProfileSeries, AGaugesFigure) {
  ProfileSeries series;
  for (int i = 0; i <= 10; ++i) {
    series.Add(Seconds(i), {{&collect::kGpuBusy, "0", "", 0.1 * i}});
  }
  // The reading at the window's start is of the time before it.
  const auto figure = series.FigureOf(collect::kGpuBusy, "0", "", {Seconds(4), Seconds(8)});
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->readings, 4);
  EXPECT_NEAR(figure->mean, 0.65, 1e-12);
  EXPECT_NEAR(figure->least, 0.5, 1e-12);
  EXPECT_NEAR(figure->most, 0.8, 1e-12);
  EXPECT_NEAR(figure->median, 0.65, 1e-12);
  EXPECT_NEAR(figure->deviation, std::sqrt(0.05 / 3), 1e-12);
  EXPECT_EQ(figure->unit, "ratio");
  EXPECT_EQ(figure->metric, "gpu_busy_ratio");
}

TEST(ProfileSeries, ACounterIsARateAndMayBeginAnew) {
  ProfileSeries series;
  const double values[] = {100, 102, 104, 1, 3, 5};
  for (int i = 0; i < 6; ++i) {
    series.Add(Seconds(2.0 * i), {{&collect::kDiskReadBytes, "sda", "", values[i]}});
  }
  const auto figure = series.FigureOf(collect::kDiskReadBytes, "sda", "", kAll);
  ASSERT_TRUE(figure);
  EXPECT_DOUBLE_EQ(figure->mean, 1);
  EXPECT_DOUBLE_EQ(figure->least, 1);
  EXPECT_EQ(figure->unit, "bytes/s");
  EXPECT_FALSE(series.FigureOf(collect::kDiskReadBytes, "sda", "", {Seconds(5.5), Seconds(6.5)}));
}

TEST(ProfileSeries, UnevenIntervalsWeighByTheirLength) {
  ProfileSeries series;
  series.Add(Seconds(0), {{&collect::kJobCpuSeconds, "", "a", 0}});
  series.Add(Seconds(1), {{&collect::kJobCpuSeconds, "", "a", 4}});
  series.Add(Seconds(4), {{&collect::kJobCpuSeconds, "", "a", 4}});
  EXPECT_DOUBLE_EQ(series.FigureOf(collect::kJobCpuSeconds, "", "a", kAll)->mean, 1);
}

TEST(ProfileSeries, WhatIsNoNumberAndOtherJobsAreLeftOut) {
  ProfileSeries series;
  series.Add(Seconds(1), {{&collect::kGpuBusy, "0", "", NAN},
                          {&collect::kJobCores, "", "a", 1},
                          {&collect::kJobCores, "", "b", 2},
                          {&collect::kCpuFrequencyHertz, "7", "", 3e9},
                          {&collect::kLoad1, "", "", 0.5}});
  const auto figures = series.Figures("a", kAll);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].metric, "job_cores");
  EXPECT_EQ(figures[0].mean, 1);
  EXPECT_EQ(figures[1].metric, "load1");
}

TEST(ProfileSeries, ALongRunStaysBoundedAndKeepsMeanAndExtremes) {
  ProfileSeries series;
  constexpr int kReadings = 100'000;
  for (int i = 0; i < kReadings; ++i) {
    const double gauge = i == 500 ? 99 : i % 2;
    series.Add(Seconds(i),
               {{&collect::kLoad1, "", "", gauge}, {&collect::kJobCpuSeconds, "", "a", 3.0 * i}});
  }
  const auto gauge = series.FigureOf(collect::kLoad1, "", "", {Seconds(-1), Seconds(1e9)});
  EXPECT_EQ(gauge->readings, kReadings);
  EXPECT_NEAR(gauge->mean, 0.5 + 99.0 / kReadings, 1e-9);
  EXPECT_EQ(gauge->most, 99);
  EXPECT_NEAR(gauge->deviation, std::sqrt(0.25 + 99.0 * 99 / kReadings), 0.01);
  EXPECT_NEAR(series.FigureOf(collect::kJobCpuSeconds, "", "a", kAll)->mean, 3, 1e-9);
}

// A job on GPU 0, read once a second for ten seconds, the first reading before it began.
class ProfileFigures : public testing::Test {
 protected:
  void Always(const Metric& metric, const std::string& instance, const std::string& job,
              double value) {
    for (int i = 0; i <= 10; ++i) {
      const bool counter = metric.kind == core::MetricKind::kCounter;
      readings_[i].push_back({&metric, instance, job, counter ? value * i : value});
    }
  }
  JobView View(std::size_t cpus) {
    for (int i = 0; i <= 10; ++i) series_.Add(Seconds(i), readings_[i]);
    return {.series = &series_,
            .job = "a",
            .gpus = GpusOf(series_, "a"),
            .cpus = cpus,
            .window = {Seconds(2), Seconds(10)},
            .life = {Seconds(-1), Seconds(10)}};
  }
  std::vector<Reading> readings_[11];
  ProfileSeries series_;
};

TEST_F(ProfileFigures, AllThatThereIs) {
  Always(collect::kGpuBusy, "0", "", 0.5);
  Always(collect::kGpuSm, "0", "", 0.4);
  Always(collect::kGpuDram, "0", "", 0.3);
  Always(collect::kGpuGpmPcieReceived, "0", "", 3e9);
  Always(collect::kGpuGpmPcieSent, "0", "", 1e9);
  Always(collect::kGpuPower, "0", "", 300);
  Always(collect::kJobGpuMemory, "0", "a", 7e9);
  Always(collect::kJobCpuSeconds, "", "a", 2.5);
  Always(collect::kJobResidentBytes, "", "a", 9e9);
  auto view = View(8);
  view.unshared = 0.5;
  const auto profile = MeasuredProfile(view);
  EXPECT_NEAR(*profile.busy, 0.5, 1e-12);
  EXPECT_NEAR(*profile.sm, 0.4, 1e-12);
  EXPECT_NEAR(*profile.dram, 0.3, 1e-12);
  EXPECT_EQ(profile.pcie, core::BytesPerSecond(4e9));
  EXPECT_EQ(profile.power, core::Watts(300));
  EXPECT_EQ(profile.gpu_memory, core::Bytes(7e9));
  EXPECT_NEAR(*profile.cpu_cores, 2.5, 1e-12);
  EXPECT_EQ(profile.host_memory, core::Bytes(4.5e9));
}

TEST_F(ProfileFigures, U1_MemoryThatASearchTookBeforeTheWindowIsNoNeed) {
  Always(collect::kJobGpuMemory, "0", "a", 7e9);
  for (Reading& reading : readings_[1]) reading.value = 70e9;
  EXPECT_EQ(MeasuredProfile(View(8)).gpu_memory, core::Bytes(7e9));
}

TEST_F(ProfileFigures, UnknownIsAbsent) {
  const JobView view = View(8);
  EXPECT_EQ(MeasuredProfile(view), core::Profile());
  EXPECT_EQ(BoundBy(view, core::Profile()), "");
  EXPECT_TRUE(view.gpus.empty());
}

TEST_F(ProfileFigures, InCompanyOnlyItsOwnIsItsOwn) {
  Always(collect::kGpuBusy, "0", "", 1);
  Always(collect::kGpuSm, "0", "", 0.9);
  Always(collect::kGpuMemoryUsed, "0", "", 9e9);
  Always(collect::kJobGpuMemory, "0", "a", 3e9);
  Always(collect::kJobGpuSm, "0", "a", 0.6);
  JobView view = View(8);
  view.alone = false;
  const auto profile = MeasuredProfile(view);
  EXPECT_NEAR(*profile.busy, 0.6, 1e-12);
  EXPECT_FALSE(profile.sm);
  EXPECT_EQ(profile.gpu_memory, core::Bytes(3e9));
}

TEST_F(ProfileFigures, BoundByTheGpu) {
  Always(collect::kGpuBusy, "0", "", 0.99);
  Always(collect::kGpuSm, "0", "", 0.9);
  Always(collect::kGpuDram, "0", "", 0.3);
  const auto view = View(8);
  EXPECT_EQ(BoundBy(view, MeasuredProfile(view)), "gpu: busy 99 % of the time, SM 90 %, DRAM 30 %");
}

TEST_F(ProfileFigures, BoundByTheGpusMemory) {
  Always(collect::kGpuBusy, "0", "", 0.99);
  Always(collect::kGpuSm, "0", "", 0.5);
  Always(collect::kGpuDram, "0", "", 0.8);
  const auto view = View(8);
  EXPECT_THAT(BoundBy(view, MeasuredProfile(view)), StartsWith("gpu memory bandwidth:"));
}

TEST_F(ProfileFigures, BoundByOneCore) {
  Always(collect::kGpuBusy, "0", "", 0.4);
  Always(collect::kJobCpuSeconds, "", "a", 1.01);
  const auto view = View(8);
  EXPECT_EQ(BoundBy(view, MeasuredProfile(view)),
            "one core: 1.01 of 8 cores busy while the GPU idles 60 % of the time");
}

TEST_F(ProfileFigures, BoundByItsCores) {
  Always(collect::kJobCpuSeconds, "", "a", 3.9);
  const auto view = View(4);
  EXPECT_EQ(BoundBy(view, MeasuredProfile(view)), "cpu cores: 3.90 of 4 cores busy");
}

TEST_F(ProfileFigures, BoundByOthersOnTheMachine) {
  Always(collect::kJobCpuSeconds, "", "a", 0.6);
  Always(collect::kCpuBusyRatio, "", "", 0.99);
  const auto view = View(4);
  EXPECT_EQ(BoundBy(view, MeasuredProfile(view)),
            "cpu cores: all CPUs of the machine 99 % busy, 0.60 cores by the job");
}

TEST_F(ProfileFigures, BoundByADisk) {
  Always(collect::kJobCpuSeconds, "", "a", 0.2);
  Always(collect::kDiskBusySeconds, "sda", "", 0.1);
  Always(collect::kDiskBusySeconds, "nvme0n1", "", 0.97);
  Always(collect::kPressureIoWaitingSeconds, "", "", 0.5);
  const auto view = View(8);
  EXPECT_EQ(BoundBy(view, MeasuredProfile(view)), "disk: nvme0n1 busy 97 % of the time");
}

TEST_F(ProfileFigures, BoundByMemory) {
  Always(collect::kJobCpuSeconds, "", "a", 7.9);
  Always(collect::kPressureMemoryWaitingSeconds, "", "", 0.4);
  const auto view = View(8);
  EXPECT_THAT(BoundBy(view, MeasuredProfile(view)), HasSubstr("waited for memory 40 %"));
}

TEST_F(ProfileFigures, BoundByNothingThatIsSeen) {
  Always(collect::kGpuBusy, "0", "", 0.5);
  Always(collect::kJobCpuSeconds, "", "a", 2.2);
  const auto view = View(8);
  EXPECT_EQ(BoundBy(view, MeasuredProfile(view)),
            "unknown: GPU busy 50 % of the time, 2.20 of 8 cores busy");
}

TEST_F(ProfileFigures, AGpuThatVanishesIsNoted) {
  for (int i = 0; i < 4; ++i) readings_[i].push_back({&collect::kGpuMemoryUsed, "0", "", 1e9});
  Always(collect::kGpuMemoryUsed, "1", "", 1e9);
  const auto notes = Vanished(View(8));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("GPU 0"));
}

}  // namespace
}  // namespace sharewell::measure
