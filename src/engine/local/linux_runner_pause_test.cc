// Runs that are paused and resumed, with a stand-in for libcuda
// (platform/process/fake_checkpoint.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/local/linux_runner.h"
#include "engine/local/run/job_folder.h"
#include "platform/files/test_folder.h"

namespace sharewell::engine {
namespace {

using core::Bytes;
using core::Seconds;
using testing::HasSubstr;

std::string Beside(const char* name) {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name).string();
}

class LinuxRunnerPauseTest : public testing::Test {
 protected:
  LinuxRunnerPauseTest() {
    std::filesystem::create_directory(World());
    ::setenv("SHAREWELL_FAKE_CHECKPOINT", World().c_str(), 1);
    ::setenv("SHAREWELL_CUDA_LIBRARY", Beside("libfake_checkpoint.so").c_str(), 1);
    Open();
  }
  ~LinuxRunnerPauseTest() override {
    Set("slow", "0");
    for (const RunId id : started_) runner_->Stop(id, {Seconds(0)});
    for (const RunId id : started_) {
      Until([&] { return Has<RunEnded>(id); });
    }
    ::unsetenv("SHAREWELL_FAKE_CHECKPOINT");
    ::unsetenv("SHAREWELL_CUDA_LIBRARY");
  }

  void Open(Seconds patience = Seconds(60)) {
    runner_.reset();
    LinuxRunnerOptions options;
    options.state = folder_.Path("state");
    options.pause_patience = patience;
    options.cpus = CpuRoom::LayoutHere({});
    auto opened = LinuxRunner::Open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    runner_ = std::move(*opened);
  }
  std::string World() const { return folder_.Path("world"); }
  void Set(const std::string& name, const std::string& text) {
    std::ofstream(World() + "/" + name) << text;
  }
  std::string Calls() {
    std::ifstream file(World() + "/calls");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::size_t Count(const std::string& call) {
    std::istringstream lines(Calls());
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.starts_with(call) ? 1 : 0;
    return count;
  }

  // A process that uses CUDA, below a shell that does not.
  RunId Start(std::optional<Seconds> limit = {}) {
    RunRequest request;
    request.id = {static_cast<std::int64_t>(started_.size()) + 1, 1};
    request.user = {.name = "me", .uid = ::geteuid(), .gid = ::getegid(), .admin = false};
    request.asked.command = {
        "sh", "-c",
        "sh -c 'echo 0 > " + World() + "/$$; touch " + World() + "/ready; exec sleep 1000'; true"};
    request.asked.folder = folder_.path();
    request.asked.environment = {{"PATH", "/usr/bin:/bin"}};
    request.asked.gpus = 1;
    request.asked.time_limit = limit;
    runner_->Start(request);
    started_.push_back(request.id);
    Until(
        [&] { return Has<RunStarted>(request.id) && std::filesystem::exists(World() + "/ready"); });
    return request.id;
  }
  template <class F>
  void Until(F done) {
    const Seconds end = runner_->Now() + Seconds(40);
    while (!done() && runner_->Now() < end) {
      std::vector<RunEvent> events;
      runner_->Wait(runner_->Now() + Seconds(0.1), events);
      for (RunEvent& event : events) told_.push_back(std::move(event));
    }
    EXPECT_TRUE(done()) << Calls();
  }
  template <class Event>
  bool Has(RunId id) {
    return std::any_of(told_.begin(), told_.end(), [&](const RunEvent& event) {
      const auto* one = std::get_if<Event>(&event);
      return one != nullptr && one->id == id;
    });
  }
  // What the next answer says; empty: it was done.
  std::string Ask(RunId id, bool pause, std::optional<Bytes> memory = {}) {
    told_.clear();
    pause ? runner_->Pause(id, memory) : runner_->Resume(id);
    return Answer(id, pause);
  }
  std::string Answer(RunId id, bool pause) {
    return pause ? AnswerOf<RunPaused, PauseRefused>(id) : AnswerOf<RunResumed, ResumeRefused>(id);
  }
  template <class Done, class Refused>
  std::string AnswerOf(RunId id) {
    Until([&] { return Has<Done>(id) || Has<Refused>(id); });
    for (const RunEvent& event : told_) {
      if (const auto* refused = std::get_if<Refused>(&event)) return refused->why;
    }
    return {};
  }
  PauseState State(RunId id) {
    return ReadPause(JobFolder(folder_.Path("state"), id.job, id.attempt));
  }

  platform::TestFolder folder_;
  std::unique_ptr<LinuxRunner> runner_;
  std::vector<RunId> started_;
  std::vector<RunEvent> told_;
};

TEST_F(LinuxRunnerPauseTest, PausesAndResumesWhatUsesCuda) {
  EXPECT_EQ(runner_->WhyNoPause(), "");
  const RunId id = Start();
  EXPECT_EQ(Ask(id, true), "");
  EXPECT_EQ(State(id).state, PauseState::State::kPaused);
  EXPECT_EQ(Ask(id, true), "");  // again: the same
  EXPECT_EQ(State(id).pauses, 1);
  EXPECT_EQ(Count("checkpoint"), 1U);
  EXPECT_EQ(Ask(id, false), "");
  EXPECT_EQ(State(id).state, PauseState::State::kRunning);
  EXPECT_EQ(Ask(id, true), "");
  EXPECT_EQ(Ask(id, false), "");
  EXPECT_EQ(State(id).pauses, 2);
}

TEST_F(LinuxRunnerPauseTest, WhatCannotBePausedRunsOnAndSaysWhy) {
  const RunId id = Start();
  Set("lock", "801");
  EXPECT_THAT(Ask(id, true), HasSubstr("MPS"));
  EXPECT_EQ(State(id).state, PauseState::State::kRunning);
  Set("lock", "0");
  EXPECT_THAT(Ask(id, true, Bytes(1e18)), HasSubstr("host memory"));
  EXPECT_EQ(Count("checkpoint"), 0U);
  EXPECT_EQ(Ask(id, true), "");
}

TEST_F(LinuxRunnerPauseTest, WhatCannotBeResumedStaysPaused) {
  const RunId id = Start();
  EXPECT_EQ(Ask(id, true), "");
  Set("restore", "2");
  EXPECT_THAT(Ask(id, false), HasSubstr("CUDA error 2"));
  EXPECT_EQ(State(id).state, PauseState::State::kPaused);
  Set("restore", "0");
  EXPECT_EQ(Ask(id, false), "");
}

TEST_F(LinuxRunnerPauseTest, AServerThatGoesInTheMiddleLosesNothing) {
  const RunId id = Start();
  Set("slow", "1000");
  runner_->Pause(id, {});
  const Seconds end = runner_->Now() + Seconds(30);
  while (Count("checkpoint") == 0 && runner_->Now() < end) ::usleep(10'000);
  Open();
  ASSERT_EQ(runner_->Recover().size(), 1U);
  EXPECT_EQ(Ask(id, true), "");
  EXPECT_EQ(Count("checkpoint"), 1U);  // the one that was under way
  runner_->Resume(id);
  Open();
  ASSERT_EQ(runner_->Recover().size(), 1U);
  EXPECT_EQ(Ask(id, false), "");
  EXPECT_EQ(State(id).state, PauseState::State::kRunning);
}

TEST_F(LinuxRunnerPauseTest, ADriverThatDoesNotAnswerIsGivenUp) {
  Open(Seconds(1));
  const RunId id = Start();
  Set("slow", "30000");
  EXPECT_THAT(Ask(id, true), HasSubstr("did not answer"));
  Set("slow", "0");
  Until([&] { return State(id).state == PauseState::State::kRunning; });
}

TEST_F(LinuxRunnerPauseTest, ThePauseDoesNotCountForTheTimeLimit) {
  const RunId id = Start(Seconds(3));
  EXPECT_EQ(Ask(id, true), "");
  const Seconds until = runner_->Now() + Seconds(4);
  Until([&] { return runner_->Now() >= until; });
  EXPECT_FALSE(Has<RunEnded>(id));
  EXPECT_EQ(Ask(id, false), "");
  Until([&] { return Has<RunEnded>(id); });
  for (const RunEvent& event : told_) {
    const auto* ended = std::get_if<RunEnded>(&event);
    EXPECT_TRUE(ended == nullptr || ended->end.timed_out);
  }
  started_.clear();
}

TEST_F(LinuxRunnerPauseTest, APausedRunCanBeStopped) {
  const RunId id = Start();
  EXPECT_EQ(Ask(id, true), "");
  runner_->Stop(id, {Seconds(1)});
  Until([&] { return Has<RunEnded>(id); });
  started_.clear();
}

}  // namespace
}  // namespace sharewell::engine
