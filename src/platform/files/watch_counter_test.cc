#include "platform/files/watch_counter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sharewell::platform {
namespace {

struct Kept {
  WatchCounter lines;
  std::vector<std::string> kept;
  void Read(const std::string& bytes) {
    lines.Read(bytes.data(), bytes.size(),
               [&](const char* line, std::size_t size) { kept.emplace_back(line, size); });
  }
};

TEST(WatchCounter, StepsAreAddedUpHoweverTheyAreCut) {
  Kept job;
  job.Read("+1\n+1");
  EXPECT_EQ(job.lines.steps(), 1);
  job.Read("0\n");
  EXPECT_EQ(job.lines.steps(), 11);
  for (const char c : std::string("+7\n")) job.Read(std::string(1, c));
  EXPECT_EQ(job.lines.steps(), 18);
  EXPECT_TRUE(job.kept.empty());
}

TEST(WatchCounter, WhatIsNoNumberCountsNothing) {
  Kept job;
  job.Read("+\n+-1\n+1x\n+1 2\n5\n+9999999999\n\n++1\n+1\r\n");
  EXPECT_EQ(job.lines.steps(), 0);
  EXPECT_TRUE(job.kept.empty());
}

TEST(WatchCounter, TheCountStaysWithinItsDigits) {
  Kept job;
  std::string flood;
  for (int i = 0; i < 10'000; ++i) flood += "+999999999\n";
  for (int i = 0; i < 200; ++i) job.Read(flood);
  EXPECT_EQ(job.lines.steps(), WatchCounter::kMostSteps);
}

TEST(WatchCounter, PiecesOfDocumentsAreHandedOnWhole) {
  Kept job;
  job.Read("doc 7.1 0 0 {\"sharewell_");
  job.Read("step\":1\nsomething else\noff torch is too old\nby report_step\ndoc\nby\n");
  EXPECT_EQ(job.kept, (std::vector<std::string>{"doc 7.1 0 0 {\"sharewell_step\":1\n",
                                                "off torch is too old\n", "by report_step\n"}));
}

TEST(WatchCounter, ALineThatIsTooLongIsLeftOut) {
  Kept job;
  job.Read("doc 1 0 0 " + std::string(WatchCounter::kMostLine, 'x') + "\n+2\n");
  const std::string longest = "doc " + std::string(WatchCounter::kMostLine - 5, 'y') + "\n";
  job.Read(longest);
  EXPECT_EQ(job.kept, std::vector<std::string>{longest});
  EXPECT_EQ(job.lines.steps(), 2);
  job.Read(std::string(100'000, '+'));
  job.Read("+1\n+1\n");
  EXPECT_EQ(job.lines.steps(), 3);
}

}  // namespace
}  // namespace sharewell::platform
