#include "platform/files/write_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

using core::ErrorKind;
using testing::HasSubstr;

std::size_t FilesIn(const TestFolder& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    files += entry.exists();
  return files;
}

TEST(WriteFile, WritesAndReplacesAndLeavesNothingBehind) {
  const TestFolder folder;
  const std::string path = folder.Path("a.csv");
  ASSERT_TRUE(WriteFile(path, "one"));
  EXPECT_EQ(TestFolder::Read(path), "one");
  ASSERT_TRUE(WriteFile(path, ""));
  EXPECT_EQ(TestFolder::Read(path), "");
  EXPECT_EQ(FilesIn(folder), 1U);
}

TEST(WriteFile, KeepsPermissionsAndFollowsLinks) {
  const TestFolder folder;
  const std::string path = folder.Write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(::symlink(path.c_str(), folder.Path("link").c_str()), 0);
  ASSERT_TRUE(WriteFile(folder.Path("link"), "new"));
  EXPECT_EQ(TestFolder::Read(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path("link")));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(WriteFile, WritesToADeviceWithoutReplacingIt) {
  ASSERT_TRUE(WriteFile("/dev/null", "x"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(WriteFile, AMissingFolderOrAFolderAsTargetIsAUsageError) {
  const TestFolder folder;
  const auto missing = WriteFile(folder.Path("none/a"), "x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(missing.error().message, HasSubstr("folder does not exist"));
  const auto directory = WriteFile(folder.path(), "x");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().kind, ErrorKind::kUsage);
  EXPECT_FALSE(WriteFile("", "x"));
}

TEST(WriteFile, AFullDiskLeavesTheOldFileAndNoTemporary) {
  const TestFolder folder;
  const std::string path = folder.Write("a", "old");
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);  // the limit then shows as EFBIG
  const struct rlimit tiny { 10, before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  const auto written = WriteFile(path, std::string(1000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::kFailed);
  EXPECT_EQ(TestFolder::Read(path), "old");
  EXPECT_EQ(FilesIn(folder), 1U);
}

}  // namespace
}  // namespace sharewell::platform
