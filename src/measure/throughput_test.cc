#include "measure/throughput.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

namespace sharewell::measure {
namespace {

using core::Seconds;
using testing::HasSubstr;
using Kind = ThroughputSource::Kind;

std::unique_ptr<Throughput> Made(Kind kind, const std::string& expression = {}) {
  auto made = Throughput::Make({kind, expression});
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

TEST(StepClock, RatesGoFromArrivalToArrival) {
  StepClock clock;
  EXPECT_FALSE(clock.Rate(Seconds(0), Seconds(10)));
  for (int i = 1; i <= 10; ++i) clock.Add(Seconds(3.0 * i), i);
  // A step every three seconds: the span's ends do not matter.
  EXPECT_DOUBLE_EQ(*clock.Rate(Seconds(4), Seconds(11)), 1.0 / 3);
  EXPECT_DOUBLE_EQ(*clock.Rate(Seconds(0), Seconds(100)), 1.0 / 3);
  EXPECT_DOUBLE_EQ(*clock.Rate(Seconds(4), Seconds(8)), 1.0 / 3);
  EXPECT_FALSE(clock.Rate(Seconds(4), Seconds(5)));
  EXPECT_FALSE(clock.Rate(Seconds(1), Seconds(4)));
  EXPECT_DOUBLE_EQ(*clock.At(Seconds(4.5)), 1.5);
  EXPECT_FALSE(clock.At(Seconds(1)));
  EXPECT_FALSE(clock.At(Seconds(31)));
}

TEST(StepClock, WhatDoesNotRiseIsLeftOut) {
  StepClock clock;
  clock.Add(Seconds(1), 5);
  clock.Add(Seconds(2), 5);
  clock.Add(Seconds(0), 9);
  EXPECT_EQ(clock.steps(), 5);
  EXPECT_EQ(*clock.first(), Seconds(1));
  EXPECT_EQ(clock.Arrivals(Seconds(0), Seconds(9)), 1);
  EXPECT_EQ(clock.Arrivals(Seconds(2), Seconds(1)), 0);
}

TEST(StepClock, ALongRunStaysBoundedAndExact) {
  StepClock clock;
  for (int i = 0; i < 100'000; ++i) clock.Add(Seconds(0.5 * i), 20.0 * i);
  EXPECT_NEAR(*clock.Rate(Seconds(0), Seconds(50'000)), 40, 1e-9);
  EXPECT_NEAR(*clock.Rate(Seconds(20'000), Seconds(30'000)), 40, 1e-9);
}

class ProgressFileTest : public testing::Test {
 protected:
  // Writes, and sets the file's time to the wall clock `at` seconds in.
  void Write(const std::string& text, double at, std::ios::openmode mode = std::ios::app) {
    std::ofstream(throughput_->File(), mode | std::ios::binary) << text;
    const double wall = kEpoch + at;
    const timespec time{.tv_sec = static_cast<time_t>(wall),
                        .tv_nsec = static_cast<long>((wall - std::floor(wall)) * 1e9)};
    const timespec times[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, throughput_->File().c_str(), times, 0), 0);
  }
  void Poll(double now) { throughput_->Poll(Seconds(now), Seconds(kEpoch + now)); }

  static constexpr double kEpoch = 1.7e9;
  std::unique_ptr<Throughput> throughput_ = Made(Kind::kProgressFile);
};

TEST_F(ProgressFileTest, CountsLinesAtTheTimeTheyWereWritten) {
  Poll(0);
  EXPECT_FALSE(throughput_->Expected());
  EXPECT_EQ(throughput_->Source(), "none");
  Write("", 0.5);
  Poll(0.6);
  EXPECT_TRUE(throughput_->Expected());
  // 7 steps in each 0.9 s, looked at once a second.
  for (int i = 1; i <= 10; ++i) {
    Write("1\n2\n3\n4\n5\n6\n7\n", 0.9 * i);
    Poll(0.9 * i + 0.05 * (i % 3));
  }
  EXPECT_NEAR(*throughput_->Rate(Seconds(0), Seconds(100)), 7 / 0.9, 1e-4);
  EXPECT_NEAR(*throughput_->Smooth(Seconds(2), Seconds(3)), 7 / 0.9, 1e-4);
  EXPECT_EQ(throughput_->Source(), "progress file");
  EXPECT_EQ(throughput_->Note(), "");
}

TEST_F(ProgressFileTest, HalfALineIsNoStep) {
  Write("step 1\nste", 1);
  Poll(1);
  Poll(2);
  Write("p 2\n", 3);
  Poll(3);
  EXPECT_NEAR(*throughput_->Rate(Seconds(0), Seconds(9)), 0.5, 1e-6);
}

TEST_F(ProgressFileTest, TruncatedAndReplacedFilesGoOn) {
  Write("a\nb\nc\n", 1);
  Poll(1);
  Write("d\n", 2, std::ios::trunc);
  Poll(2);
  EXPECT_THAT(throughput_->Note(), HasSubstr("append"));
  std::filesystem::remove(throughput_->File());
  Poll(2.5);
  Write("e\nf\n", 3);
  Poll(3);
  EXPECT_NEAR(*throughput_->Rate(Seconds(0), Seconds(9)), 1.5, 1e-6);
}

TEST_F(ProgressFileTest, AClockThatJumpsDoesNotBendIt) {
  Write("a\n", 1);
  Poll(1);
  Write("b\n", 5000);
  Poll(2);
  Write("c\n", -5000);
  Poll(3);
  const auto rate = throughput_->Rate(Seconds(0), Seconds(9));
  ASSERT_TRUE(rate);
  EXPECT_GT(*rate, 0.6);
  EXPECT_LT(*rate, 2.1);
}

TEST_F(ProgressFileTest, HugeFilesAreCountedBitByBit) {
  Write(std::string(70'000'000, '\n'), 1);
  Poll(1);
  EXPECT_EQ(throughput_->Source(), "none");  // more is waiting
  Poll(2);
  EXPECT_EQ(throughput_->Source(), "progress file");
  struct stat state {};
  ASSERT_EQ(::stat(throughput_->File().c_str(), &state), 0);
  EXPECT_EQ(state.st_size, 70'000'000);
}

TEST(ProgressFile, IsRemovedAtTheEnd) {
  auto throughput = Made(Kind::kProgressFile);
  const std::string path = throughput->File();
  EXPECT_TRUE(std::filesystem::exists(path));
  throughput.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(OutputThroughput, ReadsAStepCounter) {
  const auto throughput = Made(Kind::kSteps, "step (\\d+)/");
  throughput->Feed("epoch 1\nstep 10/100 lo", Seconds(1));
  throughput->Feed("ss 3\r\nstep 20/100\rstep 3", Seconds(2));
  throughput->Feed("0/100\nnothing\n", Seconds(3));
  EXPECT_NEAR(*throughput->Rate(Seconds(0), Seconds(9)), 10, 1e-9);
  throughput->Feed("step 10/100\n", Seconds(4));  // the next epoch
  EXPECT_NEAR(*throughput->Rate(Seconds(0), Seconds(9)), 10, 1e-9);
  EXPECT_EQ(throughput->Source(), "output");
}

TEST(OutputThroughput, WithoutAGroupAMatchIsAStep) {
  const auto throughput = Made(Kind::kSteps, "^loss");
  for (int i = 0; i < 5; ++i) throughput->Feed("loss\nother loss\n", Seconds(0.5 * i));
  EXPECT_NEAR(*throughput->Rate(Seconds(0), Seconds(9)), 2, 1e-9);
}

TEST(OutputThroughput, ReadsARate) {
  const auto throughput = Made(Kind::kRate, "([0-9.,]+) ?it/s");
  EXPECT_EQ(throughput->Source(), "none");
  for (int i = 0; i < 5; ++i) throughput->Feed("50%| 1,200.0it/s]\r", Seconds(i));
  EXPECT_NEAR(*throughput->Rate(Seconds(0), Seconds(9)), 1200, 1e-9);
}

TEST(OutputThroughput, BinaryAndEndlessLinesAreSurvived) {
  const auto throughput = Made(Kind::kSteps, "(a+)+b (\\d+)");
  throughput->Feed(std::string(1 << 20, 'a'), Seconds(1));
  throughput->Feed(std::string("\n\0\xff\x80\n", 5), Seconds(2));
  for (int i = 0; i < 10'000; ++i) throughput->Feed("aaaaaaaaaaaaaaaaaaaaaaaac\n", Seconds(3));
  EXPECT_EQ(throughput->Source(), "none");
}

TEST(OutputThroughput, SaysWhereAnExpressionIsWrong) {
  const struct {
    const char* expression;
    const char* says;
  } cases[] = {{"step (\\d+", "character 6"}, {"a[b", "character 2"},    {"*", "character 1"},
               {"ab)", "character 3"},        {"(a)\\1", "refers back"}, {"", "empty"}};
  for (const auto& [expression, says] : cases) {
    const auto checked = CheckExpression({Kind::kSteps, expression});
    ASSERT_FALSE(checked) << expression;
    EXPECT_EQ(checked.error().kind, core::ErrorKind::kUsage);
    EXPECT_THAT(checked.error().message, HasSubstr(says));
  }
  EXPECT_FALSE(CheckExpression({Kind::kSteps, std::string(2000, 'a')}));
  EXPECT_THAT(CheckExpression({Kind::kRate, "it/s"}).error().message, HasSubstr("group"));
  EXPECT_TRUE(CheckExpression({Kind::kProgressFile, "(("}));
}

}  // namespace
}  // namespace sharewell::measure
