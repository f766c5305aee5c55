// What can go wrong with a file of jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "platform/files/test_folder.h"
#include "store/jobs/sql_job_store.h"
#include "store/jobs/test_jobs.h"
#include "store/sqlite/sqlite_database.h"
#include "store/test_process.h"

namespace sharewell::store {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST(JobFaults, AFullDiskTakesNothingOfAChangeAndGoesOnLater) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  auto database = OpenSqlite(path);
  ASSERT_TRUE(database);
  Database& disk = **database;
  SqlJobStore store(std::move(*database), NewFileLock(path));
  ASSERT_TRUE(store.BecomeServer());
  ASSERT_TRUE(store.Write({{PlainJob(1)}, {}, {}, {}}));
  ASSERT_TRUE(disk.Script("PRAGMA max_page_count = 1"));  // not less than it has
  JobChanges changes;
  for (int i = 2; i < 500; ++i) changes.jobs.push_back(PlainJob(i));
  changes.kept = {{"drained", "0"}};
  const auto full = store.Write(changes);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("the disk is full; make room"));
  EXPECT_EQ(store.LastNumber().value(), 1);
  EXPECT_EQ(store.Kept("drained").value(), std::nullopt);
  ASSERT_TRUE(disk.Script("PRAGMA max_page_count = 1000000"));
  ASSERT_TRUE(store.Write(changes));
  EXPECT_EQ(store.LastNumber().value(), 499);
}

TEST(JobFaults, AReadOnlyStoreIsReadAndHasNoServer) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  {
    auto store = OpenJobs(path);
    ASSERT_TRUE(store);
    ASSERT_TRUE((*store)->Write({{PlainJob(1)}, {}, {}, {}}));
  }
  for (const char* suffix : {"", "-wal", "-shm"}) {
    ASSERT_EQ(::chmod((path + suffix).c_str(), 0444), 0) << suffix;
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  TestProcess process([&] {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 1;
    auto store = OpenJobs(path);
    if (!store || (*store)->LastNumber().value_or(0) != 1) return 2;
    const auto refused = (*store)->BecomeServer();
    if (refused || refused.error().message.find("this user may write") == std::string::npos) {
      return 3;
    }
    const auto written = (*store)->Write({{PlainJob(2)}, {}, {}, {}});
    return written || written.error().message.find("run as its owner") == std::string::npos ? 4 : 0;
  });
  EXPECT_EQ(process.Wait(), 0);
  ::chmod(folder.path().c_str(), 0755);
}

// A store that cannot be written to beside it: the database may be, the lock's file may not.
TEST(JobFaults, ALockThatCannotBeMadeIsSaid) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  auto store = OpenJobs(path);
  ASSERT_TRUE(store);
  ASSERT_EQ(::mkdir((path + "-server").c_str(), 0755), 0);
  const auto refused = (*store)->BecomeServer();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("lock file cannot be opened"));
  EXPECT_TRUE((*store)->Write({{PlainJob(1)}, {}, {}, {}}));
}

}  // namespace
}  // namespace sharewell::store
