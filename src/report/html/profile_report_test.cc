#include "report/html/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/html/test_html.h"

namespace sharewell::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr core::UnixMillis kBegan = 1'800'000'000'000;

core::ProfileRecord RecordNamed(const std::string& name) {
  core::ProfileRecord record;
  record.id = 7;
  record.name = record.source = record.bound_by = name;
  record.created = kBegan;
  record.warmup = core::Seconds(4);
  record.window = core::Seconds(60);
  record.profile.workload.name = record.profile.workload.precision = name;
  record.profile.gpu = name;
  record.profile.busy = 0.875;
  record.command = {name, name};
  record.environment = {{"node", "n1"}, {name, name}};
  record.figures = {{name, name, name, 1, 0, 2, 1, 2, 0.5, 3}};
  record.kernels = {{name, 12, core::Seconds(1), 0.5, {}, {}, {}, {}, {}, {}, {}, {}}};
  record.notes = {name};
  return record;
}

SeriesRead SeriesOf(const std::string& metric, const std::string& instance, int points) {
  SeriesRead read{
      {{"n1", metric, instance, ""}, "", core::MetricKind::kGauge, 0, 0, 0}, {}, 60, {}, {}};
  for (int i = 0; i < points; ++i) {
    const core::UnixMillis at = kBegan + i * 200;
    read.buckets.push_back({at, 0.5, 0.5, 0.5, 0.5, 1, at});
  }
  return read;
}

TEST(ProfileReport, DrawsThePapersFiguresAndNamesWhatIsUnknown) {
  const std::string html =
      ProfileReport(RecordNamed("resnet50"),
                    {SeriesOf("cpu_temperature_celsius", "", 300),
                     SeriesOf("gpu_power_watts", "0", 300), SeriesOf("gpu_busy_ratio", "0", 300),
                     SeriesOf("cpu_frequency_hertz", "0", 300), SeriesOf("gpu_sm_ratio", "0", 300)},
                    "made now");
  EXPECT_THAT(testing::HtmlCheck(html).problems(), IsEmpty());
  for (const char* figure : {"figure 1 of", "figure 2 of", "figure 3 of", "figures 8 to 15 of"}) {
    EXPECT_THAT(html, HasSubstr(figure));
  }
  EXPECT_THAT(html, Not(HasSubstr("figure 5 of")));
  EXPECT_THAT(html, HasSubstr("<li>disk reads and writes</li>"));
  EXPECT_THAT(html, HasSubstr("activity inside the GPU over time."));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">GPU busy</th><td>87.5 %</td>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">CPU cores</th><td>-</td>")) << "unknown is no 0";
  EXPECT_THAT(html, HasSubstr("made now"));
}

TEST(ProfileReport, StaysSmall) {
  std::vector<SeriesRead> series;
  for (int cpu = 0; cpu < 64; ++cpu) {
    series.push_back(SeriesOf("cpu_frequency_hertz", std::to_string(cpu), 280));
  }
  EXPECT_LT(ProfileReport(RecordNamed("r"), series, "").size(), 600'000U);
}

TEST(ProfileReport, KeepsWhatComesFromOutsideText) {
  for (const std::string& bad : testing::Payloads()) {
    const std::string html =
        ProfileReport(RecordNamed(bad), {SeriesOf("gpu_busy_ratio", bad, 5)}, bad);
    EXPECT_THAT(testing::HtmlCheck(html).problems(), IsEmpty()) << bad.substr(0, 60);
    EXPECT_THAT(html, Not(HasSubstr("<script")));
  }
}

}  // namespace
}  // namespace sharewell::report
