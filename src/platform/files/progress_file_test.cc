#include "platform/files/progress_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

TEST(ProgressFile, CountsLinesAndBelievesNumbers) {
  const platform::TestFolder folder;
  const std::string path = folder.Path("progress");
  ProgressFile file(path);
  EXPECT_FALSE(file.Look());  // it is not there yet
  folder.Write("progress", "1 0.5\n2 0.7\n50");
  EXPECT_TRUE(file.Look());
  EXPECT_EQ(file.steps(), 2);
  folder.Write("progress", "1 0.5\n2 0.7\n500\nx\n");  // the line goes on
  file.Look();
  EXPECT_EQ(file.steps(), 501);
  std::string more;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int step = 0; step < 10; ++step) more += std::to_string(step) + "\n";
  }
  folder.Write("progress", "1 0.5\n2 0.7\n500\nx\n" + more);  // a counter that begins anew: lines
  file.Look();
  EXPECT_EQ(file.steps(), 521);
  EXPECT_FALSE(file.rewritten());
  folder.Write("progress", "9");
  file.Look();
  EXPECT_TRUE(file.rewritten());
}

TEST(ProgressFile, AFloodIsNotCounted) {
  const platform::TestFolder folder;
  ProgressFile file(folder.Path("progress"), {.most_at_once = 1 << 20, .most_behind = 1 << 20});
  folder.Write("progress", "7\n");
  EXPECT_TRUE(file.Look());
  std::filesystem::resize_file(folder.Path("progress"), 8 << 20);
  EXPECT_FALSE(file.Look());
  EXPECT_EQ(file.steps(), 7);
}

}  // namespace
}  // namespace sharewell::platform
