// With shell scripts in the place of training: what real PyTorch tells is
// tests/cli/watch_test.py's.
#include "advice/watch_step.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "platform/files/test_folder.h"

namespace sharewell::advice {
namespace {

using testing::HasSubstr;

constexpr const char* kTell =
    R"(printf 'doc 7.1 0 0 {"sharewell_step":1,"batch":8,"opti\ndoc 7.1 1 1 mizer":"SGD",)"
    R"("operators":[{"op":"aten.relu.default","pass":"forward","count":3}]}\n' )"
    R"(> $SHAREWELL_WATCH_PIPE; )";

StepWatch Script(const std::string& script) {
  StepWatch watch;
  watch.command = {"/bin/sh", "-c", script};
  watch.limit = core::Seconds(30);
  return watch;
}

std::string ErrorOf(const StepWatch& watch) {
  const auto watched = WatchStep(watch);
  return watched ? "told" : watched.error().message;
}

TEST(WatchStep, EndsTheCommandOnceItHasToldItsStep) {
  const auto watched =
      WatchStep(Script(kTell + std::string("echo +2 > $SHAREWELL_WATCH_PIPE; exec sleep 100")));
  ASSERT_TRUE(watched) << watched.error().message;
  EXPECT_EQ(watched->steps, 2);
  EXPECT_EQ(watched->batch, 8);
  EXPECT_EQ(watched->optimizer, "SGD");
  EXPECT_EQ(watched->forward_calls, 3);
  EXPECT_EQ(watched->workload_fingerprint.size(), 32U);
  EXPECT_EQ(watched->exit_code, std::nullopt);
}

TEST(WatchStep, TheWatcherStandsInFrontOfThePythonPath) {
  const platform::TestFolder test;
  const auto watched = WatchStep(Script("echo \"$PYTHONPATH\" > " + test.Path("path") +
                                        "; ls \"${PYTHONPATH%%:*}\" > " + test.Path("files") +
                                        "; " + kTell + "exit 3"));
  ASSERT_TRUE(watched) << watched.error().message;
  EXPECT_EQ(watched->exit_code, 3);
  const std::string path = platform::TestFolder::Read(test.Path("path"));
  const std::string folder = path.substr(0, path.find_first_of(":\n"));
  EXPECT_THAT(platform::TestFolder::Read(test.Path("files")), HasSubstr("sitecustomize.py"));
  EXPECT_FALSE(std::filesystem::exists(folder)) << "it is gone afterwards";
}

TEST(WatchStep, SaysWhyNothingWasTold) {
  EXPECT_THAT(ErrorOf(Script("exit 5")),
              HasSubstr("no training step was seen before the command ended with exit code 5"));
  EXPECT_THAT(ErrorOf(Script("echo off KeyError: x > $SHAREWELL_WATCH_PIPE")),
              HasSubstr("the watcher switched itself off in the command: KeyError: x"));
  EXPECT_THAT(ErrorOf(Script("echo +7 > $SHAREWELL_WATCH_PIPE")),
              HasSubstr("7 steps were counted, but none was told before the command ended"));
  StepWatch slow = Script("exec sleep 100");
  slow.limit = core::Seconds(0.3);
  EXPECT_THAT(ErrorOf(slow), HasSubstr("within 0.3 s (--limit)"));
  StepWatch wrong;
  wrong.command = {"/nowhere/at/all"};
  EXPECT_THAT(ErrorOf(wrong), HasSubstr("/nowhere/at/all"));
  EXPECT_THAT(ErrorOf(Script("printf 'doc 1 0 1 {}\\n' > $SHAREWELL_WATCH_PIPE")),
              HasSubstr("the step that was told cannot be read"));
}

TEST(WatchStep, RunsOnWhereItIsAsked) {
  StepWatch watch = Script(kTell + std::string("echo +9 > $SHAREWELL_WATCH_PIPE; sleep 0.3"));
  watch.run_on = true;
  const auto watched = WatchStep(watch);
  ASSERT_TRUE(watched) << watched.error().message;
  EXPECT_EQ(watched->exit_code, 0);
  EXPECT_EQ(watched->steps, 9);
}

}  // namespace
}  // namespace sharewell::advice
