#include "platform/process/user_limits.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const UserAccount kAnn{"ann", 1000, 1000, "/home/ann", "/bin/sh"};
const UserAccount kRoot{"root", 0, 0, "/root", "/bin/sh"};

std::vector<ProcessLimit> For(const UserAccount& user, std::string_view text) {
  return LimitsOf(ReadLimitLines(text), user, {user.gid, 50}, {user.name, "staff"});
}

TEST(UserLimits, LinesThatAreNoneAreLeftOut) {
  EXPECT_THAT(ReadLimitLines("# ann - nofile 1\n\nann nofile 1\nann both nofile 1\n"
                             "ann - maxlogins 4\nann - nofile many\nann - nofile -2\n"
                             "ann -\nann - nofile 1 2\nann\thard  core\t0 # none\r\n"),
              SizeIs(1));
}

TEST(UserLimits, AnItemHasItsUnit) {
  EXPECT_THAT(For(kAnn,
                  "ann - memlock 64\nann hard cpu 10\nann soft nofile unlimited\n"
                  "ann - as 18446744073709551615\n"),
              ElementsAre(ProcessLimit{RLIMIT_CPU, std::nullopt, 600},
                          ProcessLimit{RLIMIT_NOFILE, RLIM_INFINITY, std::nullopt},
                          ProcessLimit{RLIMIT_MEMLOCK, 65536, 65536},
                          ProcessLimit{RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY}));
}

TEST(UserLimits, TheUserGoesBeforeTheGroupBeforeEverybody) {
  EXPECT_THAT(For(kAnn, "ann - nofile 1\n@staff - nofile 2\n* - nofile 3\n"),
              ElementsAre(ProcessLimit{RLIMIT_NOFILE, 1, 1}));
  EXPECT_THAT(For(kAnn, "* - nofile 3\n@staff hard nofile 2\n"),
              ElementsAre(ProcessLimit{RLIMIT_NOFILE, 3, 2}));
  EXPECT_THAT(For(kAnn, "ann - nofile 1\nann - nofile 4\n"),
              ElementsAre(ProcessLimit{RLIMIT_NOFILE, 4, 4}));
  EXPECT_THAT(For(kAnn, "bob - nofile 1\n@wheel - nofile 2\n"), IsEmpty());
}

TEST(UserLimits, ARangeOfIdsIsADomain) {
  EXPECT_THAT(For(kAnn, "1000:1999 - nofile 7\n"), ElementsAre(ProcessLimit{RLIMIT_NOFILE, 7, 7}));
  EXPECT_THAT(For(kAnn, "500: - nofile 7\n"), SizeIs(1));
  EXPECT_THAT(For(kAnn, "@40:60 - nofile 7\n"), SizeIs(1));
  EXPECT_THAT(For(kAnn, "2000: - nofile 7\n: - nofile 7\nx:9 - nofile 7\n@:9 - nofile 7\n"),
              IsEmpty());
}

TEST(UserLimits, WhatIsForEverybodyIsNotForRoot) {
  EXPECT_THAT(For(kRoot, "* - nofile 3\n@staff - nofile 2\n"), IsEmpty());
  EXPECT_THAT(For(kRoot, "root - nofile 3\n"), SizeIs(1));
}

TEST(UserLimits, AChildHasThemWithinOurs) {
  rlimit ours{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &ours), 0);
  EXPECT_EQ(LimitWith({}, RLIMIT_NOFILE).rlim_cur, ours.rlim_cur);
  const std::vector<ProcessLimit> more = {{RLIMIT_NOFILE, RLIM_INFINITY, RLIM_INFINITY}};
  EXPECT_EQ(LimitWith(more, RLIMIT_NOFILE).rlim_cur, ours.rlim_max);
  EXPECT_EQ(LimitWith(more, RLIMIT_NOFILE).rlim_max, ours.rlim_max);
  const std::vector<ProcessLimit> fewer = {{RLIMIT_NOFILE, std::nullopt, 8}};
  EXPECT_EQ(LimitWith(fewer, RLIMIT_NOFILE).rlim_cur, 8U);
  EXPECT_EQ(LimitWith(fewer, RLIMIT_NOFILE).rlim_max, 8U);
}

TEST(UserLimits, B6_TheMachinesFilesAreReadInTheirOrder) {
  const TestFolder folder;
  const UserAccount daemon = UserNamed("daemon").value();
  EXPECT_THAT(UserLimits(daemon, folder.path()), IsEmpty());
  std::ofstream(folder.Path("limits.conf")) << "* hard nproc 10\n";
  std::filesystem::create_directory(folder.Path("limits.d"));
  std::ofstream(folder.Path("limits.d/20.conf")) << "* hard nproc 20\n";
  std::ofstream(folder.Path("limits.d/10.conf")) << "* hard nproc 15\n@daemon - nofile 5\n";
  std::ofstream(folder.Path("limits.d/30.off")) << "* hard nproc 30\n";
  EXPECT_THAT(
      UserLimits(daemon, folder.path()),
      ElementsAre(ProcessLimit{RLIMIT_NPROC, std::nullopt, 20}, ProcessLimit{RLIMIT_NOFILE, 5, 5}));
}

}  // namespace
}  // namespace sharewell::platform
