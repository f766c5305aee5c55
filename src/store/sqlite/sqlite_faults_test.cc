// What can go wrong with a file.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>

#include "platform/files/test_folder.h"
#include "store/sql_store.h"
#include "store/sqlite/sqlite_database.h"
#include "store/sqlite/sqlite_error.h"
#include "store/test_batches.h"
#include "store/test_process.h"

namespace sharewell::store {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string OpenError(const std::string& where) {
  const auto opened = Open(where);
  return opened ? "opened" : opened.error().message;
}

void Execute(const std::string& path, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
}

// `minutes` of 50 series that do not pack well.
core::Result<void> Fill(Store& store, int minutes, core::UnixMillis from = kStart) {
  for (int second = 0; second < minutes * 60; second += 5) {
    core::Batch batch{from + second * 1000, {}};
    for (int i = 0; i < 50; ++i) {
      batch.readings.push_back({&kPower, std::to_string(i), "", std::sin(second * i + 1)});
    }
    if (auto done = store.Append("n1", batch); !done) return done;
  }
  return store.Sync();
}

TEST(SqliteFaults, WhatIsNoFileOfOursIsRefusedAndLeftAlone) {
  const platform::TestFolder folder;
  EXPECT_THAT(OpenError(folder.path()), HasSubstr("is a folder; name a file in it"));
  EXPECT_THAT(OpenError(""), HasSubstr("has no name"));
  EXPECT_THAT(OpenError("mysql://host/db"), HasSubstr("'mysql':// is neither"));
  EXPECT_THAT(OpenError("/dev/null"), HasSubstr("is no file"));
  EXPECT_THAT(OpenError("/proc/nowhere/store.db"),
              HasSubstr("there is no folder '/proc/nowhere'; make it"));

  const std::string text = folder.Write("notes.txt", std::string(5000, 'x'));
  EXPECT_THAT(OpenError(text), HasSubstr("is no SQLite database"));
  EXPECT_EQ(platform::TestFolder::Read(text), std::string(5000, 'x'));

  const std::string foreign = folder.Path("other.db");
  Execute(foreign, "CREATE TABLE t(x); PRAGMA application_id = 7");
  EXPECT_THAT(OpenError(foreign), HasSubstr("of another program"));
  EXPECT_FALSE(std::filesystem::exists(foreign + "-wal"));

  const std::string empty = folder.Write("empty.db", "");
  EXPECT_EQ(OpenError(empty), "opened");
}

TEST(SqliteFaults, AFileNamedLikeAnAddressIsAFile) {
  const platform::TestFolder folder;
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(OpenError(":memory:"), "opened");
  EXPECT_TRUE(std::filesystem::exists(folder.Path(":memory:")));
  std::filesystem::current_path(here);
}

TEST(SqliteFaults, ATruncatedOrDamagedFileIsSaidNeverACrash) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  {
    auto store = Open(path);
    ASSERT_TRUE(store);
    ASSERT_TRUE(Fill(**store, 20));
  }
  const std::string whole = platform::TestFolder::Read(path);
  ASSERT_GT(whole.size(), 100'000u);
  int said = 0;
  for (int i = 0; i < 12; ++i) {
    const std::string part =
        i < 6 ? whole.substr(0, whole.size() * static_cast<std::size_t>(i + 1) / 8) : whole;
    const std::string bent = folder.Write("bent" + std::to_string(i) + ".db", part);
    if (i >= 6) {
      std::string bytes = part;
      for (std::size_t at = 5000 + static_cast<std::size_t>(i); at < bytes.size(); at += 4096) {
        bytes.replace(at, 60, std::string(60, static_cast<char>(i * 37)));
      }
      folder.Write("bent" + std::to_string(i) + ".db", bytes);
    }
    auto store = Open(bent);
    if (!store) {
      EXPECT_THAT(store.error().message, HasSubstr(bent));
      ++said;
      continue;
    }
    const auto points = (*store)->Read(KeyOf("n1", "7"), {});
    const auto done = Fill(**store, 5, kStart + 3'600'000);
    if (!points || !done) ++said;
    if (!points) {
      EXPECT_THAT(points.error().message, HasSubstr("damaged"));
    }
    std::ignore = (*store)->List({});
    std::ignore = (*store)->Tidy(kStart + 90'000'000, {});
    std::ignore = (*store)->Remove({}, {});
  }
  EXPECT_GE(said, 8);
}

TEST(SqliteFaults, AFullDiskKeepsWhatWaitsAndCatchesUp) {
  const platform::TestFolder folder;
  auto database = OpenSqlite(folder.Path("store.db"));
  ASSERT_TRUE(database);
  Database& disk = **database;
  SqlStore store(std::move(*database));
  ASSERT_TRUE(Fill(store, 4));
  ASSERT_TRUE(disk.Script("PRAGMA max_page_count = 1"));  // not less than it has
  core::Result<void> done;
  int minutes = 4;
  for (; done && minutes < 100; ++minutes) done = Fill(store, 1, kStart + minutes * 60'000);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("the disk is full; make room"));
  EXPECT_FALSE(store.Sync());
  core::ProfileRecord large;
  large.name = std::string(1'000'000, 'x');
  EXPECT_FALSE(store.Save(large));
  // All of it can be read, and more is taken.
  ASSERT_TRUE(store.Append("n1", BatchOf(kStart + minutes * 60'000, 1, "7")));
  const auto waiting = store.Read(KeyOf("n1", "7"), {});
  ASSERT_TRUE(waiting);
  EXPECT_THAT(*waiting, SizeIs(static_cast<std::size_t>(minutes * 12 + 1)));
  ASSERT_TRUE(disk.Script("PRAGMA max_page_count = 1000000"));
  ASSERT_TRUE(store.Sync());
  auto again = Open(folder.Path("store.db"));
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->Read(KeyOf("n1", "7"), {}).value(), *waiting);
}

// The same on a real file system of 400 KiB, where one may be mounted.
TEST(SqliteFaults, AFullFileSystem) {
  const platform::TestFolder folder;
  constexpr int kNoMount = 77;
  TestProcess process([&] {
    const auto user = ::geteuid();
    const auto group = ::getegid();
    if (::unshare(CLONE_NEWNS) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNoMount;
      std::ofstream("/proc/self/setgroups") << "deny";
      std::ofstream("/proc/self/uid_map") << fmt::format("{0} {0} 1", user);
      std::ofstream("/proc/self/gid_map") << fmt::format("{0} {0} 1", group);
    }
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=400k,mode=777") != 0) {
      return kNoMount;
    }
    const std::string balloon = folder.Path("balloon");
    std::ofstream(balloon) << std::string(100'000, 'x');
    auto store = Open(folder.Path("store.db"));
    if (!store) return 1;
    core::Result<void> done;
    int minutes = 0;
    for (; done && minutes < 200; ++minutes) done = Fill(**store, 1, kStart + minutes * 60'000);
    if (done) return 2;
    if (done.error().message.find("the disk is full") == std::string::npos) return 3;
    if ((*store)->Sync()) return 4;
    std::filesystem::remove(balloon);
    if (!(*store)->Sync()) return 5;
    auto again = Open(folder.Path("store.db"));
    if (!again) return 6;
    const auto points = (*again)->Read(KeyOf("n1", "7"), {});
    return points && points->size() == static_cast<std::size_t>(minutes * 12) ? 0 : 7;
  });
  const int status = process.Wait();
  if (status == kNoMount) return;  // the test before this one is the same without a mount
  EXPECT_EQ(status, 0);
}

TEST(SqliteFaults, AReadOnlyFileIsReadAndSaysWhoMayWrite) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  {
    auto store = Open(path);
    ASSERT_TRUE(store);
    ASSERT_TRUE(Fill(**store, 5));
  }
  for (const char* suffix : {"", "-wal", "-shm"}) {
    ASSERT_EQ(::chmod((path + suffix).c_str(), 0444), 0) << suffix;
  }
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  TestProcess process([&] {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 1;
    auto store = Open(path);
    if (!store) return 2;
    const auto points = (*store)->Read(KeyOf("n1", "7"), {});
    if (!points || points->size() != 60) return 3;
    if (!(*store)->Append("n1", BatchOf(kStart, 1))) return 4;
    const auto done = (*store)->Sync();
    if (done || done.error().message.find("run as its owner") == std::string::npos) return 5;
    return 0;
  });
  EXPECT_EQ(process.Wait(), 0);
  ::chmod(folder.path().c_str(), 0755);
}

TEST(SqliteFaults, ALockedFileNamesWhoHoldsIt) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("store.db");
  auto store = Open(path);
  ASSERT_TRUE(store);
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  TestProcess holder([&] {
    sqlite3* database = nullptr;
    sqlite3_open(path.c_str(), &database);
    if (sqlite3_exec(database, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) != SQLITE_OK) return 1;
    if (::write(pipe[1], "x", 1) != 1) return 2;
    for (;;) ::pause();
  });
  char ready = 0;
  ASSERT_EQ(::read(pipe[0], &ready, 1), 1);
  ASSERT_TRUE((*store)->Append("n1", BatchOf(kStart, 1)));
  EXPECT_THAT((*store)->Read(KeyOf("n1"), {}).value(), SizeIs(1));  // readers do not wait
  const auto done = (*store)->Sync();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("another program has kept it locked for 3 s"));
  const std::string name = LockHolder(path);
  if (!name.empty()) {
    EXPECT_THAT(name, HasSubstr(std::to_string(holder.pid())));
  }
  holder.Kill();
  EXPECT_TRUE((*store)->Sync());
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace sharewell::store
