#include "report/measure/series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/measure/health.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using core::MetricKind;
using store::Bucket;
using ::testing::HasSubstr;

constexpr core::UnixMillis kStart = 1'700'000'000'000;

std::vector<Bucket> Buckets(const std::vector<double>& values) {
  std::vector<Bucket> buckets;
  for (const double value : values) {
    const auto i = static_cast<core::UnixMillis>(buckets.size());
    buckets.push_back(
        {kStart + i * 10'000, value - 1, value + 1, value, value, 10, kStart + i * 10'000 + 9'000});
  }
  return buckets;
}

TEST(Series, UnitsAsPeopleReadThem) {
  EXPECT_EQ(InUnit(0.97, "ratio"), "97.0 %");
  EXPECT_EQ(InUnit(4.5e9, "bytes"), "4.2 GiB");
  EXPECT_EQ(InUnit(4.5e9, "bytes/s"), "4.5 GB/s");
  EXPECT_EQ(InUnit(310.25, "joules/s"), "310.2 W");
  EXPECT_EQ(InUnit(1.98e9, "hertz"), "1,980 MHz");
  EXPECT_EQ(InUnit(3, "1"), "3");
  EXPECT_EQ(InUnit(2.5, "seconds/s"), "2.50 s/s");
  EXPECT_EQ(InUnit(0.0 / 0.0, "ratio"), "-");
}

TEST(Series, Times) {
  EXPECT_EQ(UtcTime(kStart), "2023-11-14 22:13:20");
  EXPECT_EQ(UtcTime(-1), "1969-12-31 23:59:59");
}

TEST(Series, AGaugeIsWeighedByItsSamples) {
  auto buckets = Buckets({10, 20});
  buckets[1].samples = 30;
  const SeriesSummary summary = Summarise(MetricKind::kGauge, buckets);
  EXPECT_EQ(summary.least, 9);
  EXPECT_EQ(summary.most, 21);
  EXPECT_EQ(summary.mean, 17.5);
  EXPECT_EQ(summary.last, 20);
  EXPECT_FALSE(Summarise(MetricKind::kGauge, {}).mean);
}

TEST(Series, ACounterIsARateAndItsRestartNoFall) {
  const SeriesSummary summary = Summarise(MetricKind::kCounter, Buckets({100, 200, 50, 100}));
  EXPECT_EQ(summary.least, 5);  // after the restart: 50 in 10 s
  EXPECT_EQ(summary.most, 10);
  EXPECT_DOUBLE_EQ(*summary.mean, 200.0 / 30);
  EXPECT_EQ(summary.last, 100);
  EXPECT_FALSE(Summarise(MetricKind::kCounter, Buckets({5})).mean);
}

TEST(Series, ASparklineShowsShapeAndGaps) {
  auto buckets = Buckets({0, 7, 3, 7});
  buckets.erase(buckets.begin() + 2);
  const store::TimeRange range{kStart, kStart + 40'000};
  EXPECT_EQ(Sparkline(MetricKind::kGauge, buckets, range, 4), "▁█ █");
  EXPECT_EQ(Sparkline(MetricKind::kGauge, {}, range, 4), "");
  EXPECT_EQ(Sparkline(MetricKind::kGauge, Buckets({5, 5}), range, 4), "▅▅");
}

SeriesRead OneSeries() {
  SeriesRead series;
  series.info = {{"here", "gpu_busy_ratio", "0", "train\n"},
                 "ratio",
                 MetricKind::kGauge,
                 kStart,
                 kStart + 20'000,
                 3};
  series.range = {kStart, kStart + 20'001};
  series.points = {{kStart, 0.5}, {kStart + 10'000, 0.75}};
  series.buckets = {{kStart, 0.5, 0.75, 0.625, 0.75, 2}};
  return series;
}

TEST(Series, Text) {
  const std::string text = SeriesText(OneSeries());
  EXPECT_THAT(text, HasSubstr("gpu_busy_ratio 0, job train? on here\n"));
  EXPECT_THAT(text, HasSubstr("2 samples, 2023-11-14 22:13:20 to 2023-11-14 22:13:40 UTC\n"));
  EXPECT_THAT(text, HasSubstr("least 50.0 %   mean 62.5 %   most 75.0 %   last 75.0 %\n"));
}

TEST(Series, Csv) {
  EXPECT_EQ(SeriesCsvHeader(SeriesRows::kPoints) + SeriesCsv(OneSeries(), SeriesRows::kPoints),
            "node,metric,instance,job,unit,time_unix_ms,value\n"
            "here,gpu_busy_ratio,0,\"train\n\",ratio,1700000000000,0.5\n"
            "here,gpu_busy_ratio,0,\"train\n\",ratio,1700000010000,0.75\n");
  EXPECT_THAT(SeriesCsv(OneSeries(), SeriesRows::kBuckets),
              HasSubstr(",1700000000000,0.5,0.625,0.75,0.75,2\n"));
}

TEST(Health, IsInWordsAndFits) {
  const std::vector<measure::HealthRow> rows = {
      {"collectors", "cpu", measure::Soundness::kWorks, "8 CPUs", ""},
      {"collectors", "nvml", measure::Soundness::kAbsent,
       "libnvidia-ml.so.1 was not found, neither where the loader looks for it nor beside the "
       "driver, so nothing is known of GPUs",
       "sudo apt-get install nvidia-driver"},
      {"store", "store", measure::Soundness::kPartly, "read\nonly", ""}};
  for (const std::size_t width : {100U, 60U}) {
    const std::string narrow = HealthText(rows, width);
    for (std::size_t at = 0, end = 0; (end = narrow.find('\n', at)) != narrow.npos; at = end + 1) {
      EXPECT_LE(DisplayWidth(narrow.substr(at, end - at)), width);
    }
  }
  const std::string text = HealthText(rows);
  EXPECT_THAT(text, HasSubstr("  cpu    works   8 CPUs\n"));
  EXPECT_THAT(text, HasSubstr("\n      mend: sudo apt-get install nvidia-driver\n"));
  EXPECT_THAT(text, HasSubstr("\nstore\n  store  partly  read only\n"));
  EXPECT_THAT(text, HasSubstr("no GPU was found: ready to run jobs on CPUs"));
  EXPECT_THAT(text, HasSubstr("; 1 thing to improve: nvml\n"));
  EXPECT_THAT(HealthJson(rows), HasSubstr("\"mend\": null"));
  EXPECT_THAT(HealthJson(rows), HasSubstr("\"verdict\": \"no GPU was found"));
}

TEST(Health, SaysEachFactOnceAndEndsWithAVerdict) {
  using measure::Soundness;
  const std::string driver = "libnvidia-ml.so.1 was not found where the loader looks for it";
  const std::string text =
      HealthText({{"collectors", "nvml", Soundness::kAbsent, driver, "install"},
                  {"collectors", "gpm", Soundness::kAbsent, driver, "install"}});
  EXPECT_EQ(text.find("libnvidia"), text.rfind("libnvidia"));
  EXPECT_THAT(text, HasSubstr("as with nvml"));
  EXPECT_THAT(text, HasSubstr("1 thing to improve: nvml"));
  std::vector<measure::HealthRow> rows = {
      {"GPUs", "gpu 0", Soundness::kWorks, "H200", ""},
      {"GPUs", "gpu 1", Soundness::kPartly, "H200", "sudo one"},
      {"GPUs", "gpu islands", Soundness::kWorks, "0 1", ""},
      {"GPUs", "MPS", Soundness::kWorks, "mps", ""},
      {"machine", "host speed", Soundness::kAbsent, "not measured", "two"}};
  EXPECT_EQ(Verdict(rows), "ready to share 2 GPUs; 2 things to improve: gpu 1, host speed");
  rows.push_back({"store", "store", Soundness::kAbsent, "gone", ""});
  EXPECT_THAT(Verdict(rows), HasSubstr("not ready to run jobs: store missing"));
}

}  // namespace
}  // namespace sharewell::report
