#include "platform/files/watch_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

TEST(WatchFile, CountsAndPutsDocumentsTogetherAsTheyCome) {
  const TestFolder folder;
  WatchFile file(folder.Path("watch"));
  file.Look();  // it is not there yet
  EXPECT_EQ(file.steps(), 0);
  folder.Write("watch", "+1\n+1\ndoc 7.1 0 0 {\"a\":");
  file.Look();
  EXPECT_EQ(file.steps(), 2);
  EXPECT_EQ(file.TakeDocument(), std::nullopt);
  folder.Write("watch", "+1\n+1\ndoc 7.1 0 0 {\"a\":\ndoc 7.1 1 1 1}\n+7\noff KeyError\n");
  file.Look();
  EXPECT_EQ(file.steps(), 9);
  EXPECT_EQ(file.TakeDocument(), "{\"a\":1}");
  EXPECT_EQ(file.TakeDocument(), std::nullopt);
  EXPECT_EQ(file.off(), "KeyError");
  EXPECT_FALSE(file.by_report_step());
}

TEST(WatchFile, OfATalkativeJobNoMoreIsKeptThanOfASupervisedOne) {
  const TestFolder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "doc 7." + std::to_string(i) + " 0 0 " + std::string(4000, 'x') + "\n";
  }
  folder.Write("watch",
               text + "doc 8 0 1 " + std::string(3000, 'y') + "\n+3\nnoise\n\xff\xfe\n+x\n");
  WatchFile file(folder.Path("watch"));
  file.Look();
  EXPECT_EQ(file.TakeDocument(), std::nullopt);
  EXPECT_EQ(file.steps(), 3);
}

TEST(WatchFile, AFloodIsSkippedAndTheLineAfterItIsNone) {
  const TestFolder folder;
  folder.Write("watch", "+1\n");
  WatchFile file(folder.Path("watch"), {.most_at_once = 1 << 20, .most_behind = 1 << 20});
  file.Look();
  std::filesystem::resize_file(folder.Path("watch"), 8 << 20);
  file.Look();
  EXPECT_EQ(file.steps(), 1);
  std::filesystem::remove(folder.Path("watch"));
  file.Look();
  EXPECT_EQ(file.steps(), 1);
}

}  // namespace
}  // namespace sharewell::platform
