#include "platform/files/watcher_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

TEST(WatcherFiles, AreByteForByteWhatLiesInPython) {
  for (const auto& [name, contents] : WatcherFiles()) {
    EXPECT_EQ(contents, TestFolder::Read("python/watcher/" + name)) << name;
  }
}

TEST(WatcherFiles, AreWrittenReadableForAll) {
  const TestFolder test;
  const std::string folder = test.Path("state/watcher");
  const mode_t before = ::umask(0077);
  const auto written = WriteWatcher(folder);
  ::umask(before);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(ModeOf(folder), 0755U);
  for (const auto& [name, contents] : WatcherFiles()) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    EXPECT_EQ(TestFolder::Read(path), contents) << name;
    EXPECT_EQ(ModeOf(path), 0644U) << name;
  }
}

TEST(WatcherFiles, AreMendedAndElseLeftAlone) {
  const TestFolder test;
  ASSERT_TRUE(WriteWatcher(test.path()));
  std::vector<std::filesystem::file_time_type> times;
  for (const auto& [name, contents] : WatcherFiles()) {
    times.push_back(std::filesystem::last_write_time(test.Path(name)));
  }
  ASSERT_TRUE(WriteWatcher(test.path()));
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto& [name, contents] = WatcherFiles()[i];
    EXPECT_EQ(std::filesystem::last_write_time(test.Path(name)), times[i]) << name;
    test.Write(name, "spoilt");
    ASSERT_TRUE(WriteWatcher(test.path()));
    EXPECT_EQ(TestFolder::Read(test.Path(name)), contents) << name;
  }
}

TEST(WatcherFiles, AFolderThatCannotBeMadeIsSaid) {
  const TestFolder test;
  const auto written = WriteWatcher(test.Write("file", "") + "/watcher");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("the folder of the watcher cannot be made"),
            std::string::npos);
}

TEST(WatcherFiles, StandInFrontOfThePythonPath) {
  EXPECT_EQ(WatcherPythonPath("/w", ""), "/w");
  EXPECT_EQ(WatcherPythonPath("/w", "/a:/b"), "/w:/a:/b");
}

}  // namespace
}  // namespace sharewell::platform
