#include "engine/local/run/old_logs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "engine/local/run/job_folder.h"
#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

using testing::ElementsAre;

constexpr core::UnixMillis kDay = 86'400'000;
constexpr core::UnixMillis kNow = 20'000 * kDay;

class OldLogsTest : public testing::Test {
 protected:
  // Logs that were last written to, and whose job's run ended, so many days ago.
  void Logs(std::int64_t job, double written, double ended, std::size_t bytes = 8192) {
    const std::string log = LogFolder(folder_.path(), job);
    std::filesystem::create_directories(log);
    Age(folder_.Write("logs/" + std::to_string(job) + "/out.0", std::string(bytes, 'x')), written);
    Age(log, ended);
  }
  static void Age(const std::string& path, double days) {
    const auto at = static_cast<time_t>(static_cast<double>(kNow) / 1e3 - days * 86400);
    const timespec times[] = {{at, 0}, {at, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  std::int64_t Remove(const LogRetention& kept = {}) {
    return RemoveOldLogs(
        folder_.path(), kept, kNow, [&](std::int64_t job) { return live_.contains(job); }, stop_);
  }
  std::set<std::string> Left() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.Path("logs"))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  platform::TestFolder folder_;
  std::set<std::int64_t> live_;
  std::atomic<bool> stop_ = false;
};

TEST_F(OldLogsTest, GoAMonthAfterTheEndOfTheirJob) {
  Logs(1, 31, 31);
  Logs(2, 90, 29);  // silent for long before it ended
  Logs(3, 29, 31);
  Logs(4, 400, 400);
  live_ = {4};
  EXPECT_EQ(Remove(), 1);
  EXPECT_THAT(Left(), ElementsAre("2", "3", "4"));
  EXPECT_FALSE(HasLogs(folder_.path(), 1));
  EXPECT_TRUE(HasLogs(folder_.path(), 2));
  EXPECT_EQ(Remove(), 0);
  live_.clear();
  EXPECT_EQ(Remove(), 1);
  EXPECT_THAT(Left(), ElementsAre("2", "3"));
}

TEST_F(OldLogsTest, TheOldestGoFirstWhereThereAreTooMany) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (std::int64_t job = 1; job <= 6; ++job) {
    Logs(job, 10 - static_cast<double>(job), 10 - static_cast<double>(job), kMiB);
  }
  live_ = {2};
  // Room for three and their folders; the second is live, and counts.
  EXPECT_EQ(Remove({.all = core::Bytes(3.5 * kMiB)}), 3);
  EXPECT_THAT(Left(), ElementsAre("2", "5", "6"));
  EXPECT_EQ(Remove({.of_disk = 1e-12}), 2) << "a small disk";
  EXPECT_THAT(Left(), ElementsAre("2"));
}

TEST_F(OldLogsTest, WhatWasCutShortIsDoneAndWhatIsNotOursStays) {
  Logs(7, 1, 1);
  std::filesystem::rename(folder_.Path("logs/7"), folder_.Path("logs/7.gone"));
  std::filesystem::create_directories(folder_.Path("logs/notes"));
  Logs(8, 50, 50);
  stop_ = true;
  EXPECT_EQ(Remove(), 0);
  EXPECT_THAT(Left(), ElementsAre("7.gone", "8", "notes"));
  stop_ = false;
  EXPECT_EQ(Remove(), 1);
  EXPECT_THAT(Left(), ElementsAre("notes"));
  std::filesystem::remove_all(folder_.Path("logs"));
  EXPECT_EQ(Remove(), 0);
}

}  // namespace
}  // namespace sharewell::engine
