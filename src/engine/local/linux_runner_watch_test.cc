// Runs that are watched from inside: what their watcher writes into its pipe, and what becomes of
// it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "engine/local/linux_runner.h"
#include "engine/local/run/job_folder.h"
#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using testing::ElementsAre;
using testing::IsEmpty;

struct Watched {
  std::vector<std::string> documents, off;
  double steps = 0;
  bool by_watcher = false;
  std::optional<RunEnd> end;
};

class LinuxRunnerWatchTest : public testing::Test {
 protected:
  LinuxRunnerWatchTest() { Open(folder_.Path("watcher")); }
  void Open(const std::string& watcher) {
    runner_.reset();
    LinuxRunnerOptions options;
    options.state = folder_.Path("state");
    options.watcher = watcher;
    options.grace = Seconds(5);
    options.log_limit = core::Bytes(1 << 20);
    auto opened = LinuxRunner::Open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    runner_ = std::move(*opened);
  }
  RunRequest Request(const std::string& script) {
    RunRequest request;
    request.id = {++jobs_, 1};
    request.user = {.name = "me", .uid = ::geteuid(), .gid = ::getegid(), .admin = false};
    request.asked.command = {"sh", "-c", script};
    request.asked.folder = folder_.path();
    request.asked.environment = {{"PATH", "/usr/bin:/bin"}};
    request.asked.gpus = 0;
    return request;
  }
  Watched Run(const RunRequest& request) {
    runner_->Start(request);
    return Follow(request.id);
  }
  Watched Follow(RunId id) {
    Watched run;
    const Seconds end = runner_->Now() + Seconds(30);
    while (!run.end && runner_->Now() < end) {
      std::vector<RunEvent> events;
      runner_->Wait(runner_->Now() + Seconds(0.1), events);
      for (const RunEvent& event : events) {
        if (const auto* told = std::get_if<RunTold>(&event); told != nullptr && told->id == id) {
          if (!told->document.empty()) run.documents.push_back(told->document);
          if (!told->off.empty()) run.off.push_back(told->off);
        }
        if (const auto* step = std::get_if<RunProgress>(&event); step && step->id == id) {
          run.steps = step->steps;
          run.by_watcher = step->by_watcher;
        }
        if (const auto* over = std::get_if<RunEnded>(&event); over && over->id == id) {
          run.end = over->end;
        }
      }
    }
    EXPECT_TRUE(run.end);
    return run;
  }
  std::string Log(std::int64_t job) const {
    return ReadLog(LogFolder(folder_.Path("state"), "", ::geteuid(), job), LogStream::kOut, 0,
                   1 << 20)
        .bytes;
  }

  platform::TestFolder folder_;
  std::unique_ptr<LinuxRunner> runner_;
  std::int64_t jobs_ = 0;
};

TEST_F(LinuxRunnerWatchTest, StepsAreCountedAndDocumentsHandedOn) {
  const Watched run = Run(Request(
      "p=$SHAREWELL_WATCH_PIPE; echo +1 > $p; echo 'doc 7.1 0 0 {\"a\"' > $p; echo +20 > $p; "
      "echo 'off too old' > $p; echo 'doc 7.1 1 1 :1}' > $p"));
  EXPECT_EQ(run.end->exit_code, 0);
  EXPECT_EQ(run.steps, 21);
  EXPECT_TRUE(run.by_watcher);
  EXPECT_THAT(run.documents, ElementsAre("{\"a\":1}"));
  EXPECT_THAT(run.off, ElementsAre("too old"));
}

TEST_F(LinuxRunnerWatchTest, WhereTheJobCountsItsStepsThatCountStands) {
  const Watched run =
      Run(Request("echo +100 > $SHAREWELL_WATCH_PIPE; echo 5 > $SHAREWELL_PROGRESS; echo +1 > "
                  "$SHAREWELL_WATCH_PIPE; echo step > $SHAREWELL_PROGRESS"));
  EXPECT_EQ(run.steps, 6);
  EXPECT_FALSE(run.by_watcher);
}

TEST_F(LinuxRunnerWatchTest, PythonFindsTheWatcherFirst) {
  RunRequest request = Request("echo $PYTHONPATH; ls -l $SHAREWELL_WATCH_PIPE | cut -c1-10");
  Run(request);
  EXPECT_EQ(Log(1), folder_.Path("watcher") + "\nprw-------\n");
  request = Request("echo $PYTHONPATH");
  request.asked.environment.emplace_back("PYTHONPATH", "/mine:/yours");
  Run(request);
  EXPECT_EQ(Log(2), folder_.Path("watcher") + ":/mine:/yours\n");
  // One that a watched job has submitted brings it already.
  request = Request("echo $PYTHONPATH");
  request.asked.environment.emplace_back("PYTHONPATH", folder_.Path("watcher") + ":/mine");
  Run(request);
  EXPECT_EQ(Log(3), folder_.Path("watcher") + ":/mine\n");
}

TEST_F(LinuxRunnerWatchTest, WhoDoesNotWantItGetsNothing) {
  const std::string script = "echo \"${PYTHONPATH-none} ${SHAREWELL_WATCH_PIPE-none}\"";
  RunRequest request = Request(script);
  request.asked.watch = false;
  Run(request);
  EXPECT_EQ(Log(1), "none none\n");
  request = Request(script);
  request.asked.environment.emplace_back("SHAREWELL_WATCH", "0");
  Run(request);
  EXPECT_EQ(Log(2), "none none\n");
  Open("");  // a server that has none
  Run(Request(script));
  EXPECT_EQ(Log(3), "none none\n");
}

TEST_F(LinuxRunnerWatchTest, AFloodIsBoundedAndHurtsNobody) {
  const Watched run = Run(Request(
      "i=0; while [ $i -lt 200 ]; do i=$((i+1)); head -c 4000 /dev/zero | tr '\\0' x > line; "
      "printf 'doc 1 %d 0 ' $i | cat - line > long; echo >> long; cat long > "
      "$SHAREWELL_WATCH_PIPE; done; head -c 1000000 /dev/urandom > $SHAREWELL_WATCH_PIPE; echo > "
      "$SHAREWELL_WATCH_PIPE; sleep 0.2; echo +3 > $SHAREWELL_WATCH_PIPE"));
  EXPECT_EQ(run.end->exit_code, 0);
  EXPECT_THAT(run.documents, IsEmpty());
  EXPECT_GE(run.steps, 3);
}

TEST_F(LinuxRunnerWatchTest, ALaterServerHearsItAgain) {
  const RunRequest request = Request(
      "echo 'doc 1 0 1 {}' > $SHAREWELL_WATCH_PIPE; echo +4 > $SHAREWELL_WATCH_PIPE; "
      "while [ ! -e go ]; do sleep 0.05; done");
  runner_->Start(request);
  const Seconds until = runner_->Now() + Seconds(30);
  bool told = false;
  while (!told && runner_->Now() < until) {
    std::vector<RunEvent> events;
    runner_->Wait(runner_->Now() + Seconds(0.1), events);
    for (const RunEvent& event : events) told = told || std::holds_alternative<RunTold>(event);
  }
  ASSERT_TRUE(told);
  Open(folder_.Path("watcher"));
  ASSERT_EQ(runner_->Recover().size(), 1U);
  folder_.Write("go", "");
  const Watched run = Follow(request.id);
  EXPECT_THAT(run.documents, ElementsAre("{}"));
  EXPECT_EQ(run.steps, 4);
  EXPECT_TRUE(run.by_watcher);
}

}  // namespace
}  // namespace sharewell::engine
