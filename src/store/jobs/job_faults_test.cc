// What can go wrong with a file of jobs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/files/test_folder.h"
#include "store/jobs/sql_job_store.h"
#include "store/sqlite/sqlite_database.h"
#include "store/test_process.h"
#include "testing/job_records.h"

namespace sharewell::store {
namespace {

using sharewell::testing::PlainJob;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(JobFaults, AFullDiskTakesNothingOfAChangeAndGoesOnLater) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  auto database = OpenSqlite(path);
  ASSERT_TRUE(database);
  Database& disk = **database;
  auto made = SqlJobStore::Make(std::move(*database), NewFileLock(path));
  ASSERT_TRUE(made);
  SqlJobStore& store = **made;
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

// In a mount namespace of a child: a disk of 16 MiB, of which this test has filled the rest.
TEST(JobFaults, F7_AnEndIsStoredOnAFullDiskAndNewWorkIsNot) {
  const platform::TestFolder folder;
  TestProcess process([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=16m") != 0) {
      return 77;  // not root
    }
    const std::string path = folder.Path("store.db");
    {
      auto store = OpenJobs(path);
      if (!store || !(*store)->BecomeServer()) return 1;
      JobChanges begun;
      for (int i = 1; i <= 50; ++i) begun.jobs.push_back(PlainJob(i));
      if (!(*store)->Write(begun)) return 2;
      const int filler = ::open(folder.Path("filler").c_str(), O_WRONLY | O_CREAT, 0600);
      const std::string block(1 << 16, 'x');
      for (std::size_t size = block.size(); size > 0; size /= 2) {
        while (::write(filler, block.data(), size) > 0) {
        }
      }
      ::close(filler);
      const auto refused = (*store)->Write({{PlainJob(51)}, {}, {}, {}});
      if (refused || refused.error().message.find("nearly full") == std::string::npos) return 3;
      // More of them than a page cache or the log's slack would take.
      for (int round = 0; round < 20; ++round) {
        JobChanges ends;
        ends.may_use_reserve = true;
        for (auto job : begun.jobs) {
          job.phase = core::Phase::kFinished;
          job.exit_code = round;
          ends.jobs.push_back(std::move(job));
        }
        if (!(*store)->Write(ends)) return 4;
      }
    }
    auto again = OpenJobs(path);
    if (!again) return 5;
    if (!(*again)->BecomeServer()) return 6;
    if ((*again)->Jobs({.phases = {core::Phase::kFinished}}).value().size() != 50) return 7;
    if ((*again)->Write({{PlainJob(51)}, {}, {}, {}})) return 8;
    if (::unlink(folder.Path("filler").c_str()) != 0) return 9;
    return (*again)->Write({{PlainJob(51)}, {}, {}, {}}) ? 0 : 10;
  });
  const int code = process.Wait();
  if (code == 77) GTEST_SKIP() << "needs root";
  EXPECT_EQ(code, 0);
}

TEST(JobFaults, F6_AFileThatIsGoneIsNotWrittenToUntilItIsBack) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  auto store = OpenJobs(path);
  ASSERT_TRUE(store && (*store)->BecomeServer());
  ASSERT_TRUE((*store)->Write({{PlainJob(1)}, {}, {}, {}}));
  for (const char* suffix : {"", "-wal"}) {
    const std::string file = path + suffix, away = folder.Path("away");
    ASSERT_EQ(::rename(file.c_str(), away.c_str()), 0);
    const auto gone = (*store)->Write({{PlainJob(2)}, {}, {}, {}});
    ASSERT_FALSE(gone) << suffix;
    EXPECT_THAT(gone.error().message, HasSubstr("was deleted or replaced while it was in use"));
    folder.Write(std::string("store.db") + suffix, "");
    EXPECT_FALSE((*store)->Write({{PlainJob(2)}, {}, {}, {}})) << "another file of that name";
    ASSERT_EQ(::rename(away.c_str(), file.c_str()), 0);
    EXPECT_TRUE((*store)->Write({{PlainJob(2)}, {}, {}, {}})) << suffix;
  }
}

// A store as sharewell wrote it before stores had ids and records had seals.
constexpr const char* kSchema3 = R"(
PRAGMA application_id = 1399355237;
CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
CREATE TABLE series(id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL, metric TEXT NOT NULL,
  instance TEXT NOT NULL, job TEXT NOT NULL, unit TEXT NOT NULL, kind INTEGER NOT NULL,
  UNIQUE(node, metric, instance, job));
CREATE TABLE extent(series INTEGER PRIMARY KEY, first_time INTEGER NOT NULL,
  last_time INTEGER NOT NULL, samples INTEGER NOT NULL);
CREATE TABLE journal(id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL,
  minute INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE chunk(slot INTEGER PRIMARY KEY, samples INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE minute_rollup(slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE hour_rollup(slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE dirty(slot INTEGER PRIMARY KEY);
CREATE TABLE profile(id INTEGER PRIMARY KEY AUTOINCREMENT, created INTEGER NOT NULL,
  name TEXT NOT NULL, workload TEXT NOT NULL, gpu TEXT NOT NULL, source TEXT NOT NULL,
  record TEXT NOT NULL);
CREATE TABLE job(number INTEGER PRIMARY KEY, phase TEXT NOT NULL, owner TEXT NOT NULL,
  workload INTEGER NOT NULL, submitted INTEGER NOT NULL, ended INTEGER NOT NULL,
  record TEXT NOT NULL);
CREATE TABLE job_event(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL,
  job INTEGER NOT NULL, words TEXT NOT NULL);
CREATE TABLE shared_run(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,
  gpu TEXT NOT NULL, a BLOB NOT NULL, b BLOB NOT NULL, speed_a TEXT NOT NULL,
  speed_b TEXT NOT NULL, fits INTEGER NOT NULL);
CREATE TABLE kept(name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
INSERT INTO meta VALUES('schema', '3'), ('written_by', 'sharewell 0.9');
INSERT INTO kept VALUES('epoch', CAST('1700000000000' AS BLOB));
INSERT INTO job VALUES(7, 'waiting', 'ann', 1, 1700000000000, 0,
  '{"number":7,"user":"ann","uid":1000,"gid":1000,"phase":"waiting","command":["true"],"submitted_ms":1700000000000}');
)";

TEST(JobFaults, AStoreOfSchema3IsBroughtUpToDateAndItsJobsAreNotTrusted) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, kSchema3, nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  auto store = OpenJobs(path, std::string(64, 'a'));
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ((*store)->Id().size(), 16u);
  auto jobs = (*store)->Jobs({}).value();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].user.uid, 1000u);
  EXPECT_TRUE(jobs[0].untrusted);
  EXPECT_EQ((*store)->Kept("epoch").value(), "1700000000000");
  jobs[0].untrusted = false;
  EXPECT_TRUE((*store)->Write({jobs, {}, {}, {}}));
  EXPECT_FALSE((*store)->Jobs({}).value()[0].untrusted);
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
