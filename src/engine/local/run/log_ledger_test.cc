#include "engine/local/run/log_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

using testing::ElementsAre;
using testing::Pair;

class LogLedgerTest : public testing::Test {
 protected:
  LogLedgerTest() { std::filesystem::create_directories(folder_.Path("logs")); }

  platform::TestFolder folder_;
};

TEST_F(LogLedgerTest, ARowCountsUntilItsBytesWereCountedOnTheDisk) {
  LogLedger ledger(folder_.path());
  const int row = ledger.Take("a", 1000), other = ledger.Take("b", 1001);
  EXPECT_NE(row, other);
  EXPECT_TRUE(ledger.IsWritten("a"));
  ledger.End(row);
  EXPECT_FALSE(ledger.IsWritten("a"));
  EXPECT_THAT(ledger.Ended(), ElementsAre(row));
  EXPECT_NE(ledger.Take("c", 1000), row);
  const auto ended = ledger.Ended();
  ledger.SetKept({{1000, 77.0}}, ended);
  EXPECT_THAT(ledger.Kept(), ElementsAre(Pair(1000, 77.0)));
  EXPECT_EQ(ledger.Take("d", 1000), row);
  // The next server keeps what it finds again, and the rest is free.
  LogLedger next(folder_.path());
  next.Claim(other, "b", 1001);
  next.FreeTheRest();
  EXPECT_EQ(next.Take("e", 1000), 0);
  EXPECT_EQ(next.Take("f", 1000), 2);
}

// Many at once, each in a process of its own, never have more than the bound together.
TEST_F(LogLedgerTest, F8_BoundsHoldWhileManyWrite) {
  constexpr int kWriters = 12;
  constexpr std::int64_t kBound = 1'000'000;
  LogLedger ledger(folder_.path());
  std::vector<pid_t> writers;
  for (int i = 0; i < kWriters; ++i) {
    LogRows& rows = *ledger.rows();
    LogRow& own = rows.rows[ledger.Take(std::to_string(i), 1000)];
    const pid_t pid = ::fork();
    if (pid == 0) {
      for (int turn = 0; turn < 2000; ++turn) {
        const bool grown = GrowLogs(rows, own, 1000, kBound, 100 * kBound);
        if (grown && turn % 3 == 0) own.bytes.fetch_sub(1000);
      }
      ::_exit(0);
    }
    writers.push_back(pid);
  }
  double most = 0;
  for (const pid_t pid : writers) {
    int status = 0;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
      // What has been asked for and not been granted yet stands there for a moment.
      for (const auto& [uid, bytes] : ledger.Written()) most = std::max(most, bytes);
    }
    EXPECT_EQ(status, 0);
  }
  EXPECT_LE(most, kBound + kWriters * 1000.0);
  EXPECT_LE(ledger.Written().at(1000), static_cast<double>(kBound));
  EXPECT_GT(ledger.Written().at(1000), kBound * 0.8);
}

TEST(LogRows, F8_WhoHasLittleHasTheLastOfTheRoom) {
  constexpr std::int64_t kMiB = 1 << 20;
  const auto within = [](std::int64_t own, std::int64_t user, std::int64_t all) {
    return WithinLogBounds(own * kMiB, {user * kMiB, all * kMiB}, 1000 * kMiB, 1600 * kMiB);
  };
  EXPECT_TRUE(within(1, 50, 1600));
  EXPECT_FALSE(within(1, 50, 1601));
  EXPECT_FALSE(within(1, 200, 1500));
  EXPECT_TRUE(within(1, 200, 1400));
  EXPECT_TRUE(within(1, 1000, 1000));
  EXPECT_FALSE(within(1, 1001, 1001));
  EXPECT_FALSE(within(9, 900, 900));
  EXPECT_TRUE(within(9, 875, 875));
}

}  // namespace
}  // namespace sharewell::engine
