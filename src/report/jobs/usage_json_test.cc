// The answer of GET /usage: the week's figures, over time, and savings; unknown is null.
#include "report/jobs/usage_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sharewell::report {
namespace {

constexpr core::UnixMillis kHourMillis = 3'600'000;

core::JobRecord JobOf(const std::string& user, std::int64_t number) {
  core::JobRecord job;
  job.number = number;
  job.user.name = user;
  job.phase = core::Phase::kFinished;
  job.submitted = 0;
  job.started = job.resumed = kHourMillis;
  job.ended = 3 * kHourMillis;
  job.attempt = 1;
  job.gpus = {{0, "g", "H200"}};
  job.run_time = core::Seconds(7200);
  job.alone_time = core::Seconds(5400);
  return job;
}

TEST(UsageJson, HasWhatUsersUsedAndWasted) {
  WeekParts parts;
  parts.from = 0;
  parts.to = 10 * kHourMillis;
  parts.jobs = {JobOf("<b>bo</b>", 1), JobOf("ann", 2), JobOf("ann", 3)};
  parts.jobs[1].seen.busy = 0.25;
  parts.jobs[2].phase = core::Phase::kCancelled;
  parts.gpus.resize(2);
  const simulation::Savings savings{{1, {}, 10, 5, 2}, {3, {}, 30, 4, 2}, 3, 2, {"a remark"}};
  const auto json = nlohmann::json::parse(
      UsageJson(parts, {{0, 0.5, 0.25, {}}, {5 * kHourMillis, 0.25, 0, 0.75}}, savings));
  EXPECT_EQ(json["gpus"], 2);
  EXPECT_EQ(json["all"]["gpu_hours"], 6);
  ASSERT_EQ(json["users"].size(), 2U);
  const auto& ann = json["users"][0];
  EXPECT_EQ(ann["user"], "ann") << "who used most is first";
  EXPECT_EQ(ann["gpu_hours"], 4);
  EXPECT_EQ(ann["known_gpu_hours"], 2);
  EXPECT_EQ(ann["idle_gpu_hours"], 1.5);
  EXPECT_EQ(ann["failed_gpu_hours"], 2);
  EXPECT_EQ(ann["wait_mean_seconds"], 3600);
  EXPECT_EQ(ann["speed_mean"], 0.5) << "of the job that finished: 1.5 hours in three";
  EXPECT_EQ(json["users"][1]["idle_gpu_hours"], nullptr) << "nobody saw how busy it was";
  EXPECT_EQ(json["fairness_jain"], 1);
  EXPECT_EQ(json["held"], 0.375);
  EXPECT_EQ(json["busy"], 0.75) << "of the times when somebody looked";
  EXPECT_EQ(json["bins"][0]["busy"], nullptr);
  EXPECT_EQ(json["savings"]["saved"]["gpu_hours"], 2);
  EXPECT_EQ(json["savings"]["saved"]["jct_mean_seconds"], -1);
  EXPECT_EQ(json["savings"]["saved"]["energy_kwh"], nullptr);
  EXPECT_EQ(json["savings"]["remarks"][0], "a remark");
}

TEST(UsageJson, OfNothingIsUnknown) {
  const auto json = nlohmann::json::parse(UsageJson({}, {}, {}));
  EXPECT_TRUE(json["users"].empty());
  EXPECT_EQ(json["held"], nullptr);
  EXPECT_EQ(json["all"]["wait_mean_seconds"], nullptr);
  EXPECT_EQ(json["savings"]["really"]["makespan_seconds"], nullptr);
}

}  // namespace
}  // namespace sharewell::report
