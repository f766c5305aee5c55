#include "engine/slurm/read/slurm_driver.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <chrono>
#include <string>

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

core::Result<SlurmAnswer> Shell(const std::string& script, const std::string& input = "",
                                double limit = 20) {
  return NewCommandDriver()->Run({"sh", "-c", script}, input, core::Seconds(limit));
}

double SecondsOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(SlurmDriver, TellsOutputErrorsAndExitCode) {
  const auto answer = Shell("echo out; echo err >&2; exit 3");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->output, "out\n");
  EXPECT_EQ(answer->errors, "err\n");
  EXPECT_EQ(answer->exit_code, 3);
  EXPECT_EQ(Shell("kill -9 $$")->exit_code, 137);
}

TEST(SlurmDriver, AnswersAtOnceWhenTheCommandHasEnded) {
  // What it left behind holds its output open.
  EXPECT_LT(SecondsOf([] { EXPECT_EQ(Shell("sleep 30 & echo done")->output, "done\n"); }), 5);
}

TEST(SlurmDriver, FeedsAnyAmountOfInput) {
  const std::string input(3 << 20, 'x');
  EXPECT_EQ(Shell("cat", input)->output.size(), input.size());
  // One that reads nothing is not waited for, and breaks nothing.
  EXPECT_EQ(Shell("exec 0<&-; echo ok", input)->output, "ok\n");
}

TEST(SlurmDriver, ACommandThatHangsIsKilledWithAllItStarted) {
  core::Result<SlurmAnswer> answer;
  EXPECT_LT(SecondsOf([&] { answer = Shell("sleep 60 | sleep 60", "", 0.2); }), 5);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("did not answer within 0.2 s"));
  EXPECT_THAT(answer.error().message, HasSubstr("scontrol ping"));
}

TEST(SlurmDriver, ACommandThatClosesItsOutputAndHangsIsKilledToo) {
  EXPECT_FALSE(Shell("exec >&- 2>&-; sleep 60", "", 0.2));
}

TEST(SlurmDriver, MoreOutputThanIsReadIsAnErrorAndNotHalfAnAnswer) {
  const auto answer = Shell("head -c 300000000 /dev/zero");
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("more than 256 MiB"));
}

TEST(SlurmDriver, ACommandThatIsNotThereSaysWhatToInstall) {
  const auto answer = NewCommandDriver()->Run({"squeue-of-nowhere"}, "", core::Seconds(1));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, core::ErrorKind::kAbsent);
  EXPECT_THAT(answer.error().message, HasSubstr("slurm-client"));
}

TEST(SlurmDriver, WhatAUserSetsDoesNotShapeWhatIsRead) {
  ::setenv("SQUEUE_FORMAT", "%j", 1);
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::setenv("SLURM_CONF", "/etc/slurm/other.conf", 1);
  const auto answer = NewCommandDriver()->Run({"env"}, "", core::Seconds(20));
  ::unsetenv("SQUEUE_FORMAT");
  ::unsetenv("TZ");
  ::unsetenv("SLURM_CONF");
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->output, Not(HasSubstr("SQUEUE_FORMAT")));
  EXPECT_THAT(answer->output, HasSubstr("LC_ALL=C\n"));
  EXPECT_THAT(answer->output, HasSubstr("TZ=UTC0\n"));
  EXPECT_THAT(answer->output, HasSubstr("SLURM_CONF=/etc/slurm/other.conf\n"));
}

}  // namespace
}  // namespace sharewell::engine
