// The figures of GET /usage from a real store: what they hold, and when they are made anew.
#include "server/live/usage.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "platform/clock/wall_clock.h"
#include "platform/files/test_folder.h"
#include "store/job_store.h"

namespace sharewell::server {
namespace {

core::JobRecord SharedJob(std::int64_t number, core::UnixMillis now) {
  core::JobRecord job;
  job.number = number;
  job.user = {"ann", 1000, 1000, false};
  job.asked.command = {"train"};
  job.phase = core::Phase::kFinished;
  job.submitted = now - 7'200'000;
  job.started = job.resumed = now - 7'200'000;
  job.ended = now - 3'600'000;
  job.attempt = 1;
  job.gpus = {{0, "GPU-1", "H200"}};
  job.alone_time = job.run_time = core::Seconds(3600);
  return job;
}

control::ServiceView OneH200() {
  core::GpuModel model;
  model.name = "H200";
  core::Node node;
  node.name = "n1";
  node.model = core::GpuModelId(0);
  node.gpus = 1;
  control::ServiceView view;
  view.node = "n1";
  view.cluster = std::make_shared<const core::Cluster>(core::Cluster({model}, {node}));
  view.gpus.emplace_back().gpu = {0, "GPU-1", "H200"};
  return view;
}

TEST(UsageKeeper, AnswersFromTheStoreAndAnewWhenSomethingHappened) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  auto store = store::OpenJobs(path);
  ASSERT_TRUE(store);
  const core::UnixMillis now = platform::UnixNow();
  store::JobChanges changes;
  changes.jobs = {SharedJob(1, now), SharedJob(2, now)};
  ASSERT_TRUE((*store)->Write(changes));

  UsageKeeper keeper(path, OneH200, false);
  const auto first = keeper.Answer(86400);
  ASSERT_TRUE(first) << first.error().message;
  const auto json = nlohmann::json::parse(*first);
  EXPECT_EQ(json["savings"]["shared"], 2);
  EXPECT_EQ(json["savings"]["really"]["gpu_hours"], 1);
  EXPECT_EQ(json["savings"]["saved"]["gpu_hours"], 1);
  EXPECT_EQ(json["savings"]["saved"]["energy_kwh"], nullptr);
  EXPECT_EQ(json["users"][0]["gpu_hours"], 2);
  EXPECT_EQ(json["cut"], false);
  EXPECT_NEAR(json["held"].get<double>(), 1.0 / 24, 1e-3);
  EXPECT_EQ(json["busy"], nullptr) << "nobody has sampled it";
  EXPECT_EQ(keeper.Answer(86400).value(), *first) << "nothing has happened";

  changes = {};
  changes.jobs = {SharedJob(3, now)};
  changes.events = {{1, now, "job.finished", 3, "job 3 has finished"}};
  ASSERT_TRUE((*store)->Write(changes));
  std::string later = *first;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (later == *first && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    later = keeper.Answer(86400).value();
  }
  EXPECT_EQ(nlohmann::json::parse(later)["savings"]["jobs"], 3);
  EXPECT_EQ(nlohmann::json::parse(keeper.Answer(1800).value())["savings"]["jobs"], 0)
      << "half an hour ago they were over";
}

TEST(UsageTableText, SplitsSharedHoursAndPricesThem) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  auto store = store::OpenJobs(path);
  ASSERT_TRUE(store);
  const core::UnixMillis now = platform::UnixNow();
  store::JobChanges changes;
  changes.jobs = {SharedJob(1, now), SharedJob(2, now)};
  changes.jobs[1].user.name = "=bo";
  ASSERT_TRUE((*store)->Write(changes));
  core::Prices prices{"EUR", {{core::FoldedGpuName("H200"), 4}}};
  const api::UsageAsked asked{now - 86'400'000, now + 86'400'000, "user", false};
  const auto json = nlohmann::json::parse(UsageTableText(path, OneH200(), asked, prices).value());
  EXPECT_EQ(json["currency"], "EUR");
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["rows"][0]["held_gpu_hours"], 0.5) << "two had one GPU for an hour";
  EXPECT_EQ(json["rows"][0]["cost"], 2);
  EXPECT_EQ(json["rows"][0]["busy_gpu_hours"], nullptr);
  EXPECT_EQ(json["all"]["cost"], 4);
  EXPECT_LE(json["to_ms"], platform::UnixNow()) << "nobody has held anything in the future";
  auto csv = asked;
  csv.csv = true;
  const std::string text = UsageTableText(path, OneH200(), csv, {}).value();
  EXPECT_NE(text.find("\n'=bo,1,0.5,0,,0,0,0,,\n"), std::string::npos) << text;
  const auto wrong = UsageTableText(path, OneH200(), {asked.from, asked.to, "usr", false}, {});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("did you mean 'user'"), std::string::npos);
}

TEST(UsageKeeper, ATimeWithoutGpusOrJobsIsUnknown) {
  const platform::TestFolder folder;
  ASSERT_TRUE(store::OpenJobs(folder.Path("store.db")));
  UsageKeeper keeper(
      folder.Path("store.db"), [] { return control::ServiceView(); }, true);
  const auto json = nlohmann::json::parse(keeper.Answer(60).value());
  EXPECT_EQ(json["gpus"], 0);
  EXPECT_EQ(json["held"], 0);
  EXPECT_EQ(json["savings"]["really"]["makespan_seconds"], nullptr);
}

}  // namespace
}  // namespace sharewell::server
