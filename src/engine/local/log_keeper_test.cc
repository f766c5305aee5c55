#include "engine/local/log_keeper.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "engine/local/run/job_folder.h"
#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

std::string Folder(const std::string& state, std::int64_t job) {
  return LogFolder(state, "ours", 1000, job);
}

LogOwners Owners(std::function<bool(std::int64_t)> live) {
  return {.store = "ours", .live = std::move(live), .ledger = nullptr};
}

TEST(LogKeeper, LooksAgainAndAgainUntilItGoes) {
  const platform::TestFolder folder;
  const auto make = [&](int job) {
    std::filesystem::create_directories(Folder(folder.path(), job));
  };
  const auto has = [&](int job) { return engine::HasLogs(Folder(folder.path(), job)); };
  const auto goes = [&](int job) {
    for (int i = 0; i < 1000 && has(job); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return !has(job);
  };
  make(1);
  make(2);
  {
    // All that is over is old at once.
    const LogKeeper keeper(folder.path(), Owners([](std::int64_t job) { return job == 2; }),
                           {.age = core::Seconds(-3600)}, core::Seconds(0.01));
    EXPECT_TRUE(goes(1));
    make(3);
    EXPECT_TRUE(goes(3));
  }
  EXPECT_TRUE(has(2));
}

TEST(LogKeeper, AMonthIsKeptAndNobodyWaitsForIt) {
  const platform::TestFolder folder;
  std::filesystem::create_directories(Folder(folder.path(), 1));
  const auto begin = std::chrono::steady_clock::now();
  {
    const LogKeeper keeper(folder.path(), Owners([](std::int64_t) { return false; }));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_TRUE(engine::HasLogs(Folder(folder.path(), 1)));
}

}  // namespace
}  // namespace sharewell::engine
