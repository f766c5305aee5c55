#include "engine/local/run/old_logs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
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
    const std::string log = Folder(job);
    std::filesystem::create_directories(log);
    std::ofstream(log + "/out.0") << std::string(bytes, 'x');
    Age(log + "/out.0", written);
    Age(log, ended);
  }
  static void Age(const std::string& path, double days) {
    const auto at = static_cast<time_t>(static_cast<double>(kNow) / 1e3 - days * 86400);
    const timespec times[] = {{at, 0}, {at, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  std::int64_t Remove(const LogRetention& kept = {}) {
    const LogOwners owners{.store = "ours",
                           .live = [&](std::int64_t job) { return live_.contains(job); },
                           .ledger = nullptr};
    return RemoveOldLogs(folder_.path(), kept, kNow, owners, stop_);
  }
  std::set<std::string> Left() const {
    std::set<std::string> names;
    const std::string user = std::filesystem::path(Folder(1)).parent_path();
    for (const auto& entry : std::filesystem::directory_iterator(user)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  std::string Folder(std::int64_t job, std::uint32_t uid = 1000) const {
    return LogFolder(folder_.path(), "ours", uid, job);
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
  EXPECT_FALSE(HasLogs(Folder(1)));
  EXPECT_TRUE(HasLogs(Folder(2)));
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
  EXPECT_EQ(Remove({.all = core::Bytes(3.7 * kMiB)}), 3);
  EXPECT_THAT(Left(), ElementsAre("2", "5", "6"));
  EXPECT_EQ(Remove({.of_disk = 1e-12}), 2) << "a small disk";
  EXPECT_THAT(Left(), ElementsAre("2"));
}

TEST_F(OldLogsTest, WhatWasCutShortIsDoneAndWhatIsNotOursStays) {
  Logs(7, 1, 1);
  std::filesystem::rename(Folder(7), Folder(7) + ".gone");
  std::filesystem::create_directories(std::filesystem::path(Folder(8)).replace_filename("notes"));
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

// A number says nothing in another store: its logs are nobody's here, and go when they are old.
TEST_F(OldLogsTest, F3_LogsOfAnotherStoreAreNotThoseOfALiveJob) {
  live_ = {9};
  Logs(9, 50, 50);
  const std::string other = LogFolder(folder_.path(), "theirs", 1000, 9);
  const std::string number_alone = folder_.Path("logs/9");
  for (const std::string& folder : {other, number_alone}) {
    std::filesystem::create_directories(folder);
    Age(folder, 50);
  }
  EXPECT_NE(Folder(9), other);
  EXPECT_EQ(Remove(), 2);
  EXPECT_TRUE(HasLogs(Folder(9)));
  EXPECT_FALSE(HasLogs(other) || HasLogs(number_alone));
}

TEST_F(OldLogsTest, F8_EachUserHasABoundAndWhoHasMostLosesFirst) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const auto logs = [&](std::uint32_t uid, std::int64_t job, double days) {
    std::filesystem::create_directories(Folder(job, uid));
    std::ofstream(Folder(job, uid) + "/out.0") << std::string(kMiB, 'x');
    Age(Folder(job, uid) + "/out.0", days);
    Age(Folder(job, uid), days);
  };
  for (std::int64_t job = 1; job <= 6; ++job) logs(1000, job, 1);
  logs(1001, 7, 20);
  // The user who has six keeps three; the other's oldest of all stays.
  LogRetention kept;
  kept.of_user = [](std::uint32_t) { return core::Bytes(4.0 * kMiB); };
  EXPECT_EQ(Remove(kept), 3);
  EXPECT_TRUE(HasLogs(Folder(7, 1001)));
  EXPECT_TRUE(HasLogs(Folder(6)));
  EXPECT_EQ(Remove({.all = core::Bytes(2.5 * kMiB)}), 2);
  EXPECT_TRUE(HasLogs(Folder(7, 1001)));
}

}  // namespace
}  // namespace sharewell::engine
