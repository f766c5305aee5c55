#include "platform/files/watch_lines.h"

#include <gtest/gtest.h>

namespace sharewell::platform {
namespace {

TEST(WatchLines, CountsStepsHoweverTheBytesAreCut) {
  const std::string text = "+1\n+20\nnoise\n+x\n+-3\n+\n+4\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    WatchLines lines;
    for (std::size_t at = 0; at < text.size(); at += cut) {
      lines.Read(std::string_view(text).substr(at, cut));
    }
    EXPECT_EQ(lines.steps(), 25) << cut;
  }
}

TEST(WatchLines, PutsDocumentsTogether) {
  WatchLines lines;
  lines.Read("doc 7.1 0 0 {\"a\": \ndoc 8.1 0 1 {}\n");
  EXPECT_EQ(lines.TakeDocument(), "{}");
  EXPECT_EQ(lines.TakeDocument(), std::nullopt);
  lines.Read("doc 7.1 1 1 1 2}\n");
  EXPECT_EQ(lines.TakeDocument(), "{\"a\": 1 2}");
}

TEST(WatchLines, ADocumentThatLacksAPieceIsNone) {
  WatchLines lines;
  lines.Read("doc 7 0 0 a\ndoc 7 2 1 c\n");
  EXPECT_EQ(lines.TakeDocument(), std::nullopt);
  lines.Read("doc 7 1 1 b\n");
  EXPECT_EQ(lines.TakeDocument(), std::nullopt);
  lines.Read("doc 7 0 0 a\ndoc 7 1 1 b\n");
  EXPECT_EQ(lines.TakeDocument(), "ab");
}

TEST(WatchLines, KeepsNoMoreThanItsBounds) {
  WatchLines lines;
  const std::string piece(4000, 'x');
  for (int i = 0; i < 80; ++i) lines.Read("doc 7 " + std::to_string(i) + " 0 " + piece + "\n");
  lines.Read("doc 7 80 1 x\n");
  EXPECT_EQ(lines.TakeDocument(), std::nullopt);
  for (int i = 0; i < 1000; ++i) lines.Read("doc " + std::to_string(i) + " 0 0 x\n");
  lines.Read("doc 999 1 1 y\n");
  EXPECT_EQ(lines.TakeDocument(), "xy");
  lines.Read("+1" + std::string(5000, '0') + "\n+2\n");
  EXPECT_EQ(lines.steps(), 2);
  for (int i = 0; i < 3; ++i) lines.Read("+999999999999999999\n");
  EXPECT_EQ(lines.steps(), 1'000'000'000'000'000);
}

TEST(WatchLines, SaysWhyItWasSwitchedOffAndWhoCounts) {
  WatchLines lines;
  lines.Read("by report_step\noff KeyError: \x1b[2J'x'\noff later\n");
  EXPECT_TRUE(lines.by_report_step());
  EXPECT_EQ(lines.off(), "KeyError:  [2J'x'");
}

}  // namespace
}  // namespace sharewell::platform
