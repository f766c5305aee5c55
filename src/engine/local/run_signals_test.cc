#include "engine/local/run_signals.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

using Kind = RunSignals::Kind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kLongMs = 30'000;  // no test waits for it, unless it fails

class RunSignalsTest : public ::testing::Test {
 protected:
  RunSignalsTest() {
    run_.request.id = {7, 2};
    EXPECT_TRUE(signals_.Open());
  }
  std::vector<Kind> Wait(int timeout_ms = kLongMs) {
    std::vector<Kind> kinds;
    for (const RunSignals::Signal& signal : signals_.Wait(timeout_ms)) {
      kinds.push_back(signal.kind);
      if (signal.kind == Kind::kFolder || signal.kind == Kind::kEnded) {
        EXPECT_EQ(signal.run, run_.request.id);
      }
    }
    return kinds;
  }

  RunSignals signals_;
  LocalRun run_;
};

TEST_F(RunSignalsTest, WhoWakesItIsHeardOnce) {
  EXPECT_THAT(Wait(0), IsEmpty());
  signals_.Wake();
  signals_.Wake();
  EXPECT_THAT(Wait(), ElementsAre(Kind::kWoken));
  EXPECT_THAT(Wait(0), IsEmpty());
  std::thread other([&] { signals_.RingErrandOver(); });
  EXPECT_THAT(Wait(), ElementsAre(Kind::kErrandOver));
  other.join();
}

TEST_F(RunSignalsTest, WhatIsMovedIntoAFolderIsHeardUntilItIsLeft) {
  const platform::TestFolder folder;
  run_.folder = folder.path();
  signals_.WatchFolder(run_);
  const auto move_in = [&](const std::string& name) {
    const platform::TestFolder elsewhere;
    elsewhere.Write("new", "1");
    std::filesystem::rename(elsewhere.Path("new"), folder.Path(name));
  };
  move_in("started");
  EXPECT_THAT(Wait(), ElementsAre(Kind::kFolder));
  signals_.LeaveFolder(run_);
  EXPECT_EQ(run_.watch, -1);
  Wait(0);  // that it is not watched any more
  move_in("ending");
  EXPECT_THAT(Wait(0), IsEmpty());
}

TEST_F(RunSignalsTest, AProcessThatEndsIsHeardAndSoIsOneOfNoRun) {
  const auto start = [] {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    return pid;
  };
  const pid_t own = start(), other = start();
  run_.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, own, 0));
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, other, 0));
  if (run_.pidfd < 0 || pidfd < 0) GTEST_SKIP() << "this kernel has no pidfds";
  signals_.WatchProcess(run_);
  EXPECT_THAT(Wait(), ElementsAre(Kind::kEnded));
  signals_.LeaveProcess(run_);
  EXPECT_EQ(run_.pidfd, -1);
  signals_.WatchOther(pidfd);
  EXPECT_THAT(Wait(), ElementsAre(Kind::kOtherEnded));
  ::close(pidfd);
  EXPECT_THAT(Wait(0), IsEmpty());
  ::waitpid(own, nullptr, 0);
  ::waitpid(other, nullptr, 0);
}

}  // namespace
}  // namespace sharewell::engine
