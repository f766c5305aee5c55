#include "engine/local/run/job_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

using testing::ElementsAre;

TEST(JobFolder, ASpecComesBackWholeOrNotAtAll) {
  JobSpec spec;
  spec.Put("arg", "a=b\n\xff");
  spec.Put("arg", "");
  spec.Put("cores", 0.1);
  spec.Set("cores", "2.5");
  spec.Set("new", "1");
  const std::string bytes = spec.Bytes();
  const auto back = JobSpec::Parse(bytes);
  ASSERT_TRUE(back);
  EXPECT_THAT(back->All("arg"), ElementsAre("a=b\n\xff", ""));
  EXPECT_EQ(back->Number("cores"), 2.5);
  EXPECT_EQ(back->Get("new"), "1");
  EXPECT_EQ(back->Get("ar"), std::nullopt);
  EXPECT_EQ(back->Number("arg"), std::nullopt);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(JobSpec::Parse(std::string_view(bytes).substr(0, n))) << n;
  }
  EXPECT_EQ(JobOfFolder("17.2"), std::pair(std::int64_t{17}, 2));
  for (const char* name :
       {"lock", "17", ".1", "17.", "17.1x", "-1.1", "1.1.1", "99999999999999999999.1"}) {
    EXPECT_EQ(JobOfFolder(name), std::nullopt) << name;
  }
}

// The lock says who lives, not numbers that another process may have by now.
TEST(JobFolder, LifeIsReadFromTheLock) {
  const platform::TestFolder folder;
  {
    const int lock = ::open(folder.Path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(::flock(lock, LOCK_EX), 0);
    EXPECT_EQ(LifeOf(folder.path()), JobLife::kAlive);
    folder.Write("lock", std::to_string(::getpid()) + "\n");
    const int pidfd = OpenSupervisor(folder.path());
    if (pidfd >= 0) ::close(pidfd);  // a kernel that has none says -1
    EXPECT_EQ(SupervisorOf(folder.path()), ::getpid());
    ::close(lock);
  }
  EXPECT_EQ(OpenSupervisor(folder.path()), -1);  // it lives, but does not hold the lock
  EXPECT_EQ(LifeOf(folder.path()), JobLife::kNever);
  EXPECT_TRUE(std::filesystem::exists(folder.Path("void")));
  folder.Write("begun", "");
  EXPECT_EQ(LifeOf(folder.path()), JobLife::kLost);
  folder.Write("exit", "sharewell-exit 1\ncode 143\nsignal 15\ntimed_out 1\nran_ms 1500\nend\n");
  EXPECT_EQ(LifeOf(folder.path()), JobLife::kEnded);
  const auto exit = ReadExit(folder.path());
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 143);
  EXPECT_TRUE(exit->timed_out);
  EXPECT_EQ(exit->ran, core::Seconds(1.5));
  folder.Write("exit", "");
  EXPECT_FALSE(ReadExit(folder.path()));
}

// Bytes of a flood are passed over, and the line they were in is a step like another.
// The count of a job's supervisor, overwritten in place while others read.
TEST(JobFolder, F7_AHalfWrittenCountOfStepsIsNone) {
  const std::string count = "0000000000000000042 0000000000000000042\n";
  EXPECT_EQ(ParseSteps(count), 42);
  for (std::size_t n = 0; n < count.size(); ++n) EXPECT_FALSE(ParseSteps(count.substr(0, n)));
  EXPECT_FALSE(ParseSteps("0000000000000000042 0000000000000000041\n"));
  EXPECT_FALSE(ParseSteps("-000000000000000042 -000000000000000042\n"));
  EXPECT_FALSE(ParseSteps("00000000000000x0042 00000000000000x0042\n"));
  const platform::TestFolder folder;
  EXPECT_FALSE(ReadSteps(folder.path()));
  folder.Write("steps", count);
  EXPECT_EQ(ReadSteps(folder.path()), 42);
}

std::string MetricsFile(std::string text) {
  text.resize(384, ' ');
  return text + text;
}

TEST(JobFolder, WhatAJobToldOfItselfIsReadWholeOrNotAtAll) {
  const std::string file = MetricsFile("loss 1700000000000 0.412 1200\neval/acc 5 -1e-05 -1\n");
  const auto told = ParseMetrics(file);
  ASSERT_TRUE(told);
  EXPECT_EQ(*told, (std::vector<core::ToldMetric>{{"loss", 1'700'000'000'000, 0.412, 1200},
                                                  {"eval/acc", 5, -1e-5, {}}}));
  EXPECT_TRUE(ParseMetrics(MetricsFile("")).value().empty());
  for (std::size_t n = 0; n < file.size(); ++n) EXPECT_FALSE(ParseMetrics(file.substr(0, n)));
  std::string torn = file;
  torn[20] = '9';
  EXPECT_FALSE(ParseMetrics(torn));
  for (const char* line :
       {"loss", "loss 5", "loss 5 1", "loss x 1 1", "loss 5 nan 1", "loss 5 1 x", "loss 5 1 1 1",
        "loss -5 1 1", "l ss 5 1 1", " 5 1 1", "loss 5 1 -2", "loss 99999999999999999999 1 1"}) {
    EXPECT_FALSE(ParseMetrics(MetricsFile(line + std::string("\n")))) << line;
  }
  EXPECT_FALSE(ParseMetrics(MetricsFile("a 1 1 1\nb 1 1 1\nc 1 1 1\nd 1 1 1\ne 1 1 1\n")));
  const platform::TestFolder folder;
  EXPECT_FALSE(ReadMetrics(folder.path()));
  folder.Write("metrics_told", file);
  EXPECT_EQ(ReadMetrics(folder.path()), told);
}

}  // namespace
}  // namespace sharewell::engine
