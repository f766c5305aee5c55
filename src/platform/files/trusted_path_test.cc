#include "platform/files/trusted_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string WhyNot(const std::string& path) {
  const auto ok = OnlyRootMayChange(path);
  return ok ? "" : ok.error().message;
}

TEST(TrustedPath, WhatTheSystemInstalledIsRoots) {
  EXPECT_EQ(WhyNot("/"), "");
  EXPECT_EQ(WhyNot("/usr/bin/../lib"), "");
  EXPECT_EQ(WhyNot("/usr/none/of/this/exists"), "");
}

TEST(TrustedPath, AStickyFolderIsAWayButNoPlace) {
  EXPECT_THAT(WhyNot("/tmp"), HasSubstr("'/tmp' may be written by every user"));
  EXPECT_EQ(WhyNot("/tmp/nothing-is-called-so"), "");
}

TEST(TrustedPath, AnotherUsersFolderIsNotRoots) {
  const TestFolder folder;
  const std::string mine = folder.Path("mine");
  ASSERT_TRUE(fs::create_directories(mine + "/inner"));
  const uid_t other = ::geteuid() == 0 ? 65534 : ::geteuid();
  if (::geteuid() == 0) {
    EXPECT_EQ(WhyNot(mine + "/inner"), "");
    ASSERT_EQ(::chown(mine.c_str(), other, other), 0);
  }
  EXPECT_THAT(WhyNot(mine + "/inner"),
              HasSubstr("belongs to the user with uid " + std::to_string(other)));
}

// The rest needs folders that are root's.
class TrustedPathAsRoot : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "not root";
    fs::create_directories(inner_);
  }

  TestFolder folder_;
  std::string outer_ = folder_.Path("outer");
  std::string inner_ = outer_ + "/inner";
};

TEST_F(TrustedPathAsRoot, AFolderThatOthersMayWriteIsNamed) {
  ASSERT_EQ(::chmod(outer_.c_str(), 0775), 0);
  EXPECT_EQ(WhyNot(inner_), "'" + outer_ + "' may be written by its group");
  EXPECT_EQ(WhyNot(inner_ + "/not/there/yet"), "'" + outer_ + "' may be written by its group");
  ASSERT_EQ(::chmod(outer_.c_str(), 0777), 0);
  EXPECT_EQ(WhyNot(inner_), "'" + outer_ + "' may be written by every user");
  ASSERT_EQ(::chmod(outer_.c_str(), 01777), 0);
  EXPECT_EQ(WhyNot(inner_), "");
}

TEST_F(TrustedPathAsRoot, AFileIsAskedToo) {
  const std::string file = inner_ + "/store.db";
  std::ofstream(file) << "x";
  EXPECT_EQ(WhyNot(file), "");
  ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
  EXPECT_EQ(WhyNot(file), "'" + file + "' belongs to the user with uid 65534");
}

TEST_F(TrustedPathAsRoot, LinksAreFollowed) {
  const std::string others = folder_.Path("others");
  ASSERT_TRUE(fs::create_directories(others));
  ASSERT_EQ(::chown(others.c_str(), 65534, 65534), 0);
  fs::create_symlink("../others", outer_ + "/away");
  EXPECT_EQ(WhyNot(outer_ + "/away/state"), "'" + others + "' belongs to the user with uid 65534");
  fs::create_symlink(inner_, outer_ + "/here");
  EXPECT_EQ(WhyNot(outer_ + "/here"), "");
  ASSERT_EQ(::lchown((outer_ + "/here").c_str(), 65534, 65534), 0);
  EXPECT_THAT(WhyNot(outer_ + "/here"), HasSubstr("outer/here' belongs to"));
  fs::create_symlink("loop", outer_ + "/loop");
  EXPECT_THAT(WhyNot(outer_ + "/loop"), HasSubstr("leads nowhere"));
}

}  // namespace
}  // namespace sharewell::platform
