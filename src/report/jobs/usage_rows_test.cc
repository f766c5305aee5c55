// Usage by user and by GPU model: hours of GPUs and not of jobs, unknown is null, prices.
#include "report/jobs/usage_rows.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

constexpr core::UnixMillis kHour = 3'600'000;

core::JobRecord Used(std::int64_t number, const std::string& user, double from, double to,
                     std::vector<core::GivenGpu> gpus) {
  core::JobRecord job;
  job.number = number;
  job.user.name = user;
  job.phase = core::Phase::kFinished;
  job.attempt = 1;
  job.started = job.resumed = static_cast<core::UnixMillis>(from * kHour);
  job.submitted = *job.started - kHour;
  job.ended = static_cast<core::UnixMillis>(to * kHour);
  job.gpus = std::move(gpus);
  job.run_time = core::Seconds((to - from) * 3600);
  return job;
}

const core::GivenGpu kFirst{0, "a", "H200"}, kSecond{1, "b", "H200"}, kOther{2, "c", "A100"};

nlohmann::json TableOf(const std::vector<core::JobRecord>& jobs, const std::string& by,
                       const core::Prices& prices = {},
                       simulation::TimeSpan time = {0, 100 * kHour}) {
  std::vector<const core::JobRecord*> pointers;
  for (const auto& job : jobs) pointers.push_back(&job);
  const auto world = simulation::GpuTimeOf(pointers, {}, {}, time);
  const auto table = UsageTableOf(jobs, world, time, by, prices);
  EXPECT_TRUE(table);
  return table ? nlohmann::json::parse(UsageTableJson(*table)) : nlohmann::json();
}

TEST(UsageRows, ASharedHourIsSplitAmongThoseWhoShareIt) {
  auto jobs = std::vector{Used(1, "ann", 10, 14, {kFirst}), Used(2, "bo", 12, 14, {kFirst}),
                          Used(3, "bo", 20, 21, {kFirst, kSecond})};
  jobs[0].seen.busy = 0.5;
  const auto json = TableOf(jobs, "user");
  EXPECT_EQ(json["by"], "user");
  EXPECT_EQ(json["currency"], nullptr);
  ASSERT_EQ(json["rows"].size(), 2U);
  const auto &ann = json["rows"][0], &bo = json["rows"][1];
  EXPECT_EQ(ann["name"], "ann");
  EXPECT_EQ(ann["held_gpu_hours"], 3);
  EXPECT_EQ(ann["known_gpu_hours"], 3);
  EXPECT_EQ(ann["busy_gpu_hours"], 1.5);
  EXPECT_EQ(ann["wait_mean_seconds"], 3600);
  EXPECT_EQ(bo["jobs"], 2);
  EXPECT_EQ(bo["held_gpu_hours"], 3) << "half of two hours, and two GPUs for one";
  EXPECT_EQ(bo["busy_gpu_hours"], nullptr) << "nobody saw it";
  EXPECT_EQ(bo["cost"], nullptr) << "nothing has a price";
  EXPECT_EQ(json["all"]["held_gpu_hours"], 6) << "the first GPU five hours, the second one";
  EXPECT_EQ(json["unpriced"][0], "H200");
}

TEST(UsageRows, OnlyTheTimeThatIsAskedForCounts) {
  const auto json = TableOf({Used(1, "ann", 10, 20, {kFirst}), Used(2, "bo", 30, 40, {kFirst})},
                            "user", {}, {12 * kHour, 15 * kHour});
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_EQ(json["rows"][0]["held_gpu_hours"], 3);
}

TEST(UsageRows, CostIsOfTheModelsThatHaveAPrice) {
  core::Prices prices;
  prices.currency = "EUR";
  prices.per_gpu_hour = {{core::FoldedGpuName("H200"), 3.5}};
  const std::vector jobs = {Used(1, "ann", 10, 12, {kFirst}), Used(2, "ann", 10, 14, {kOther}),
                            Used(3, "bo", 10, 11, {kOther})};
  const auto json = TableOf(jobs, "user", prices);
  EXPECT_EQ(json["currency"], "EUR");
  EXPECT_EQ(json["rows"][0]["cost"], 7);
  EXPECT_EQ(json["rows"][0]["priced_gpu_hours"], 2);
  EXPECT_EQ(json["rows"][1]["cost"], nullptr);
  EXPECT_EQ(json["unpriced"], nlohmann::json({"A100"}));
  const auto by_gpu = TableOf(jobs, "gpu", prices);
  EXPECT_EQ(by_gpu["rows"][0]["name"], "A100");
  EXPECT_EQ(by_gpu["rows"][0]["held_gpu_hours"], 4);
  EXPECT_EQ(by_gpu["rows"][0]["cost"], nullptr);
  EXPECT_EQ(by_gpu["rows"][1]["cost"], 7);
  EXPECT_EQ(by_gpu["rows"][1]["jobs"], 1);
}

TEST(UsageRows, WhatHeldNoGpuHasNoHoursAndStillWaits) {
  auto waits = Used(1, "ann", 10, 12, {});
  waits.phase = core::Phase::kWaiting;
  waits.started = waits.resumed = waits.ended = std::nullopt;
  waits.run_time = {};
  const auto json = TableOf({waits}, "gpu");
  EXPECT_TRUE(json["rows"].empty());
  EXPECT_EQ(json["all"]["jobs"], 1);
  EXPECT_EQ(json["all"]["wait_mean_seconds"], 91 * 3600);
  EXPECT_EQ(json["all"]["busy_gpu_hours"], nullptr);
  EXPECT_EQ(json["all"]["cost"], nullptr);
  EXPECT_EQ(TableOf({}, "user")["all"]["wait_mean_seconds"], nullptr);
}

TEST(UsageRows, AJobWithoutAProjectCountsToThatOfTheUsersOfNone) {
  auto of_vision = Used(1, "ann", 10, 14, {kFirst});
  of_vision.asked.project = "vision";
  const auto json = TableOf({of_vision, Used(2, "ann", 10, 12, {kOther})}, "project");
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["name"], "vision");
  EXPECT_EQ(json["rows"][0]["held_gpu_hours"], 4);
  EXPECT_EQ(json["rows"][1]["name"], "default");
}

TEST(UsageRows, WhatItIsCountedByMustBeKnown) {
  for (const char* wrong : {"", "users", "projects", "GPU", "=1+1"}) {
    const auto table = UsageTableOf({}, {}, {}, wrong, {});
    ASSERT_FALSE(table) << wrong;
    EXPECT_EQ(table.error().kind, core::ErrorKind::kUsage);
    EXPECT_NE(table.error().message.find("user or project or gpu"), std::string::npos);
  }
}

TEST(UsageRows, CsvHasARowForEach) {
  core::Prices prices{"=$", {{core::FoldedGpuName("H200"), 0}}};
  const std::vector jobs = {Used(1, "-ann", 10, 12, {kFirst}), Used(2, "b,o", 20, 21, {kOther})};
  std::vector<const core::JobRecord*> pointers = {&jobs[0], &jobs[1]};
  const simulation::TimeSpan time{0, 100 * kHour};
  const auto table =
      UsageTableOf(jobs, simulation::GpuTimeOf(pointers, {}, {}, time), time, "user", prices);
  EXPECT_EQ(UsageTableCsv(*table),
            "user,jobs,held_gpu_hours,known_gpu_hours,busy_gpu_hours,wait_mean_seconds,"
            "wait_p99_seconds,priced_gpu_hours,cost,currency\n"
            "'-ann,1,2,0,,3600,3600,2,0,'=$\n"
            "\"b,o\",1,1,0,,3600,3600,0,,'=$\n");
}

}  // namespace
}  // namespace sharewell::report
