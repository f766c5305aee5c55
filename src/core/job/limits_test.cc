#include "core/job/limits.h"

#include <gtest/gtest.h>

namespace sharewell::core {
namespace {

TEST(LimitsTest, EveryKeyReadsAndWritesItsOwnMember) {
  double value = 7;
  Limits limits;
  for (const LimitKey& key : LimitKeys()) SetValue(limits, key, value++);
  value = 7;
  for (const LimitKey& key : LimitKeys()) EXPECT_EQ(ValueOf(limits, key), value++) << key.name;
  EXPECT_EQ(limits.queued_jobs, 7);
  EXPECT_EQ(limits.server_seconds_per_minute, value - 1);
}

TEST(LimitsTest, AnAdminHasAtLeastWhatAUserHas) {
  for (const LimitKey& key : LimitKeys()) {
    EXPECT_GE(ValueOf(AdminLimits(), key), ValueOf(Limits{}, key)) << key.name;
  }
}

TEST(LimitsTest, ValuesAreWrittenAsPeopleReadThem) {
  const Limits limits;
  const auto text = [&](std::string_view name) {
    return LimitText(LimitNamed(name), ValueOf(limits, LimitNamed(name)));
  };
  EXPECT_EQ(text("queued_jobs"), "20000");
  EXPECT_EQ(text("queued_bytes"), "64 MiB");
  EXPECT_EQ(text("log_bytes"), "2 GiB");
  EXPECT_EQ(text("server_seconds_per_minute"), "20 s a minute");
  EXPECT_EQ(LimitText(LimitNamed("job_bytes"), 900), "900 bytes");
  EXPECT_EQ(LimitText(LimitNamed("job_bytes"), 4.26 * 1024 * 1024), "4.3 MiB");
  EXPECT_EQ(text("gpus"), "none");
  EXPECT_EQ(text("gpu_hours_a_week"), "none");
  EXPECT_EQ(text("job_time"), "none");
  EXPECT_EQ(LimitText(LimitNamed("gpus"), 4), "4");
  EXPECT_EQ(LimitText(LimitNamed("gpu_hours_a_week"), 100.25), "100.3 h");
  const auto time = [](double seconds) { return LimitText(LimitNamed("job_time"), seconds); };
  EXPECT_EQ(time(7 * 86400), "7d");
  EXPECT_EQ(time(86400), "24h");
  EXPECT_EQ(time(5400), "90m");
  EXPECT_EQ(time(61), "61s");
  EXPECT_EQ(WhoRaises("studies"), "an admin can raise limits.studies in sharewell.toml");
}

}  // namespace
}  // namespace sharewell::core
