#include "platform/files/metric_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sharewell::platform {
namespace {

bool Take(MetricLines& lines, std::string_view text, std::int64_t now = 7) {
  return lines.Read(text.data(), text.size(), now);
}

TEST(MetricLinesTest, OfEachNameTheLastValueIsKept) {
  MetricLines lines;
  EXPECT_TRUE(Take(lines, "loss 2.5 10\nacc 1e-3\nloss 0.412 1200\n", 42));
  ASSERT_EQ(lines.count(), 2U);
  EXPECT_STREQ(lines[0].name, "loss");
  EXPECT_EQ(lines[0].value, 0.412);
  EXPECT_EQ(lines[0].step, 1200);
  EXPECT_EQ(lines[0].at, 42);
  EXPECT_STREQ(lines[1].name, "acc");
  EXPECT_EQ(lines[1].value, 1e-3);
  EXPECT_EQ(lines[1].step, -1);
}

TEST(MetricLinesTest, LinesMayBeCutAnywhere) {
  MetricLines lines;
  for (const char c : std::string_view("eval/loss -0.5 3\nx")) Take(lines, {&c, 1});
  ASSERT_EQ(lines.count(), 1U);
  EXPECT_EQ(lines[0].value, -0.5);
  EXPECT_FALSE(Take(lines, " 1"));
  EXPECT_TRUE(Take(lines, "\n"));
  EXPECT_EQ(lines.count(), 2U);
}

TEST(MetricLinesTest, WhatIsNoMetricIsPassedOver) {
  MetricLines lines;
  const std::string long_line = "x " + std::string(200, '1') + "\n";
  for (const std::string& text : {std::string("\n"),
                                  std::string("loss\n"),
                                  std::string("loss \n"),
                                  std::string("loss x\n"),
                                  std::string("loss nan\n"),
                                  std::string("loss inf\n"),
                                  std::string("loss -inf\n"),
                                  std::string("loss 1e999\n"),
                                  std::string("loss -1e31\n"),
                                  std::string("loss 0x10\n"),
                                  std::string("loss 1.2.3\n"),
                                  std::string("loss 1 -5\n"),
                                  std::string("loss 1 2 3\n"),
                                  std::string("loss 1 \n"),
                                  std::string("loss  1\n"),
                                  std::string("loss 1 9999999999999999\n"),
                                  std::string(" 1 2\n"),
                                  std::string("l\x1bss 1\n"),
                                  std::string("lo\0s 1\n", 7),
                                  std::string("loss 1\r\n"),
                                  std::string("\xff\xfe 1\n"),
                                  std::string(33, 'n') + " 1\n",
                                  long_line}) {
    EXPECT_FALSE(Take(lines, text)) << text;
  }
  EXPECT_EQ(lines.count(), 0U);
  EXPECT_TRUE(Take(lines, "loss 1\n")) << "a line that was too long spoils none after it";
}

TEST(MetricLinesTest, ThereAreNoMoreThanFour) {
  MetricLines lines;
  EXPECT_TRUE(Take(lines, "a 1\nb 1\nc 1\nd 1\ne 1\na 2\n"));
  EXPECT_EQ(lines.count(), 4U);
  EXPECT_EQ(lines[0].value, 2);
  EXPECT_FALSE(Take(lines, "f 1\n"));
}

}  // namespace
}  // namespace sharewell::platform
