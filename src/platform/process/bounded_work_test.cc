#include "platform/process/bounded_work.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "testing/sanitized.h"

namespace sharewell::platform {
namespace {

using End = WorkDone::End;

double Since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Spin() {
  for (volatile bool on = true; on;) {
  }
}

TEST(BoundedWork, AnswersFromAnotherProcess) {
  const WorkStop stop;
  const auto done = DoBounded({}, stop, [](const TellWork&) { return std::to_string(::getpid()); });
  EXPECT_EQ(done.end, End::kAnswered) << done.why;
  EXPECT_NE(done.answer, std::to_string(::getpid()));
}

TEST(BoundedWork, LongAnswersComeWhole) {
  const WorkStop stop;
  const auto done =
      DoBounded({}, stop, [](const TellWork&) { return std::string(std::size_t{3} << 20, 'x'); });
  EXPECT_EQ(done.answer, std::string(std::size_t{3} << 20, 'x'));
}

TEST(BoundedWork, TellsHowFarItIs) {
  const WorkStop stop;
  std::vector<std::string> told;
  const auto done = DoBounded(
      {}, stop,
      [](const TellWork& tell) {
        for (const char* word : {"one", "two"}) tell(word);
        return std::string("three");
      },
      [&](std::string_view word) { told.emplace_back(word); });
  EXPECT_EQ(told, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(done.answer, "three");
}

TEST(BoundedWork, A2MemoryIsBounded) {
  const WorkStop stop;
  const auto done =
      DoBounded({.memory = core::Bytes(64e6)}, stop, [](const TellWork&) -> std::string {
        std::vector<std::vector<char>> all;
        for (;;) all.emplace_back(1 << 20, 'x');
      });
  // AddressSanitizer ends a process that gets no memory, with a report.
  if (fixtures::kSanitized) {
    EXPECT_NE(done.end, End::kAnswered);
  } else {
    EXPECT_EQ(done.end, End::kMemory) << done.why;
  }
}

TEST(BoundedWork, A2AnAnswerIsBoundedToo) {
  const WorkStop stop;
  const auto done =
      DoBounded({}, stop, [](const TellWork&) { return std::string(std::size_t{80} << 20, 'x'); });
  EXPECT_EQ(done.end, End::kMemory) << done.why;
}

TEST(BoundedWork, B1CpuTimeIsBounded) {
  const WorkStop stop;
  const auto done = DoBounded({.cpu = core::Seconds(1)}, stop, [](const TellWork&) {
    Spin();
    return std::string();
  });
  EXPECT_EQ(done.end, End::kCpu) << done.why;
  EXPECT_GT(done.cpu.value, 0.5);
}

TEST(BoundedWork, B1WallTimeIsBounded) {
  const WorkStop stop;
  const auto begin = std::chrono::steady_clock::now();
  const auto done = DoBounded({.wall = core::Seconds(0.1)}, stop, [](const TellWork&) {
    ::sleep(100);
    return std::string();
  });
  EXPECT_EQ(done.end, End::kWall) << done.why;
  EXPECT_LT(Since(begin), 20);
}

TEST(BoundedWork, B1IsStoppedFromAnotherThread) {
  const WorkStop stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.Ask();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto done = DoBounded({}, stop, [](const TellWork&) {
    Spin();
    return std::string();
  });
  other.join();
  EXPECT_EQ(done.end, End::kStopped) << done.why;
  EXPECT_LT(Since(begin), 20);
  EXPECT_EQ(DoBounded({}, stop, [](const TellWork&) { return std::string(); }).end, End::kStopped);
}

TEST(BoundedWork, ACrashIsItsOwn) {
  const WorkStop stop;
  const auto done = DoBounded({}, stop, [](const TellWork&) {
    ::raise(SIGABRT);
    return std::string();
  });
  EXPECT_EQ(done.end, End::kFailed);
  EXPECT_NE(done.why.find("signal"), std::string::npos) << done.why;
}

TEST(BoundedWork, HasNoFilesButThoseItWasHanded) {
  const WorkStop stop;
  const int kept = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int other = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  const std::vector<int> files{kept};
  const auto done = DoBounded(
      {}, stop,
      [&](const TellWork&) {
        return std::string(is_open(kept) ? "y" : "n") + (is_open(other) ? "y" : "n");
      },
      {}, files);
  EXPECT_EQ(done.answer, "yn");
  ::close(kept);
  ::close(other);
}

TEST(BoundedWork, TheKernelTakesItFirst) {
  const WorkStop stop;
  const auto done = DoBounded({}, stop, [](const TellWork&) {
    std::ifstream in("/proc/self/oom_score_adj");
    std::string text;
    std::getline(in, text);
    return text;
  });
  EXPECT_EQ(done.answer, "1000");
}

}  // namespace
}  // namespace sharewell::platform
