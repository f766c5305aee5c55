#include "server/live/job_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "platform/files/test_folder.h"
#include "store/job_store.h"

namespace sharewell::server {
namespace {

using testing::ElementsAre;

core::JobRecord Job(std::int64_t number, const std::string& user, core::Phase phase) {
  core::JobRecord job;
  job.number = number;
  job.user = {user, 1000, 1000, false};
  job.asked.command = {"train", std::string(10'000, 'x')};
  job.phase = phase;
  job.submitted = number;
  if (core::IsOver(phase)) job.ended = 1'700'000'000'000 + number;
  return job;
}

TEST(JobKeeperTest, F17_TheOldestEndedJobsOfWhoKeepsTooMuchGo) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  auto store = store::OpenJobs(path);
  ASSERT_TRUE(store);
  store::JobChanges changes;
  changes.jobs.push_back(Job(1, "ann", core::Phase::kHeld));
  for (int i = 2; i <= 7; ++i) changes.jobs.push_back(Job(i, "ann", core::Phase::kCancelled));
  changes.jobs.push_back(Job(8, "bob", core::Phase::kFinished));
  changes.jobs.push_back(Job(9, "carol", core::Phase::kFinished));
  ASSERT_TRUE((*store)->Write(changes));
  const auto most = [](const std::string& user) -> std::optional<core::Bytes> {
    if (user == "carol") return std::nullopt;
    return core::Bytes(40'000);
  };
  const JobKeeper keeper([&] { return store::OpenKeptJobs(path); }, most, core::Seconds(.01));
  std::vector<std::int64_t> left;
  for (int i = 0; i < 2000 && left.size() != 6; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    left.clear();
    const auto jobs = (*store)->Jobs({}).value();
    for (const auto& job : jobs) left.push_back(job.number);
  }
  EXPECT_THAT(left, ElementsAre(9, 8, 7, 6, 5, 1)) << "live ones and others' stay";
  changes = {};
  changes.jobs = {Job(10, "ann", core::Phase::kFailed), Job(11, "bob", core::Phase::kFailed)};
  ASSERT_TRUE((*store)->Write(changes));
  const auto there = [&](std::int64_t number) {
    return !(*store)->PhasesOf({number}).value().empty();
  };
  for (int i = 0; i < 2000 && there(5); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_FALSE(there(5)) << "what ends later counts too";
  EXPECT_TRUE(there(6));
  EXPECT_TRUE(there(8));
}

}  // namespace
}  // namespace sharewell::server
