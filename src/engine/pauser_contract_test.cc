// What holds for whoever pauses runs: for real processes, with a stand-in for libcuda
// (platform/process/fake_checkpoint.cc), and for runs that are played (FakeRunner).
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "engine/local/linux_runner.h"
#include "engine/pauser.h"
#include "platform/files/test_folder.h"
#include "testing/fake_runner.h"
#include "testing/run_event_text.h"
#include "testing/runner_history.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::AllOf;
using fixtures::NamesOf;
using ::testing::IsEmpty;
using ::testing::Not;

// A runner that pauses, and what can go wrong there.
class PauserSide {
 public:
  virtual ~PauserSide() = default;
  virtual Runner& runner() = 0;
  virtual Pauser& pauser() = 0;
  virtual RunRequest Request() = 0;      // of a run of one GPU that does not end by itself
  virtual bool Ready() { return true; }  // it has begun, and uses its GPU
  virtual void Refuse(bool pauses) = 0;  // from now on
};

class PlayedPauser final : public PauserSide {
 public:
  PlayedPauser()
      : fake_(fixtures::NodesOf(1), {.shortest = Seconds(1e6), .longest = Seconds(1e6)}) {}
  Runner& runner() override { return fake_; }
  Pauser& pauser() override { return fake_; }
  RunRequest Request() override {
    RunRequest request;
    request.nodes = {"n0"};
    request.gpus = {fixtures::NodeOf(0).gpus.front()};
    return request;
  }
  void Refuse(bool pauses) override { fake_.SetRefusePause(pauses ? 1 : 0); }

 private:
  fixtures::FakeRunner fake_;
};

class LinuxPauser final : public PauserSide {
 public:
  LinuxPauser() {
    std::filesystem::create_directory(World(""));
    ::setenv("SHAREWELL_FAKE_CHECKPOINT", World("").c_str(), 1);
    std::error_code error;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    ::setenv("SHAREWELL_CUDA_LIBRARY", (folder / "libfake_checkpoint.so").c_str(), 1);
    LinuxRunnerOptions options;
    options.state = folder_.Path("state");
    options.cpus = CpuRoom::LayoutHere({});
    auto opened = LinuxRunner::Open(options);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    if (opened) runner_ = std::move(*opened);
  }
  ~LinuxPauser() override {
    ::unsetenv("SHAREWELL_FAKE_CHECKPOINT");
    ::unsetenv("SHAREWELL_CUDA_LIBRARY");
  }
  Runner& runner() override { return *runner_; }
  Pauser& pauser() override { return *runner_; }
  RunRequest Request() override {
    RunRequest request;
    request.user = {.name = "me", .uid = ::geteuid(), .gid = ::getegid(), .admin = false};
    request.asked.command = {
        "sh", "-c", "echo 0 > " + World("$$") + "; touch " + World("ready") + "; exec sleep 1000"};
    request.asked.folder = folder_.path();
    request.asked.environment = {{"PATH", "/usr/bin:/bin"}};
    request.asked.gpus = 1;
    return request;
  }
  bool Ready() override { return std::filesystem::exists(World("ready")); }
  void Refuse(bool pauses) override { std::ofstream(World("lock")) << (pauses ? "801" : "0"); }

 private:
  std::string World(const std::string& name) const { return folder_.Path("world/" + name); }

  platform::TestFolder folder_;
  std::unique_ptr<LinuxRunner> runner_;
};

enum class Kind { kLinux, kPlayed };

class PauserContract : public ::testing::TestWithParam<Kind> {
 protected:
  PauserContract() {
    if (GetParam() == Kind::kLinux) {
      side_ = std::make_unique<LinuxPauser>();
    } else {
      side_ = std::make_unique<PlayedPauser>();
    }
    RunRequest request = side_->Request();
    request.id = run_;
    side_->runner().Start(request);
    Until([&] { return !AllOf<RunStarted>(told_).empty() && side_->Ready(); });
    told_.clear();
  }
  ~PauserContract() override {
    side_->runner().Stop(run_, {Seconds(0)});
    if (!ended_) Until([&] { return ended_; });
  }
  template <class So>
  void Until(So so) {
    const Seconds end = side_->runner().Now() + Seconds(40);
    while (!so() && side_->runner().Now() < end) Wait(0.1);
    EXPECT_TRUE(so());
  }
  void Wait(double seconds) {
    std::vector<RunEvent> events;
    side_->runner().Wait(side_->runner().Now() + Seconds(seconds), events);
    for (RunEvent& event : events) {
      ended_ = ended_ || std::holds_alternative<RunEnded>(event);
      told_.push_back(std::move(event));
    }
  }
  // The one answer to it.
  std::vector<std::string> Pause() {
    side_->pauser().Pause(run_, {});
    return Answer();
  }
  std::vector<std::string> Resume() {
    side_->pauser().Resume(run_);
    return Answer();
  }
  std::vector<std::string> Answer() {
    told_.clear();
    Until([&] { return !told_.empty(); });
    return NamesOf(told_);
  }

  std::unique_ptr<PauserSide> side_;
  const RunId run_{1, 1};
  std::vector<RunEvent> told_;
  bool ended_ = false;
};

TEST_P(PauserContract, PausesAndResumesAndTheSameAgain) {
  EXPECT_EQ(side_->pauser().WhyNoPause(), "");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Pause(), NamesOf<RunPaused>());
    EXPECT_EQ(Pause(), NamesOf<RunPaused>());
    EXPECT_EQ(Resume(), NamesOf<RunResumed>());
    EXPECT_EQ(Resume(), NamesOf<RunResumed>());
  }
}

TEST_P(PauserContract, WhatIsRefusedIsToldWithWhyAndCanBeAskedAgain) {
  side_->Refuse(true);
  EXPECT_EQ(Pause(), NamesOf<PauseRefused>());
  EXPECT_THAT(AllOf<PauseRefused>(told_).at(0).why, Not(IsEmpty()));
  side_->Refuse(false);
  EXPECT_EQ(Pause(), NamesOf<RunPaused>());
}

TEST_P(PauserContract, OfARunThatIsNotThereNothingFollows) {
  side_->pauser().Pause({7, 1}, {});
  side_->pauser().Resume({7, 2});
  for (int i = 0; i < 5; ++i) Wait(0.1);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_P(PauserContract, WhatIsPausedCanBeStopped) {
  EXPECT_EQ(Pause(), NamesOf<RunPaused>());
  side_->runner().Stop(run_, {Seconds(1)});
  Until([&] { return ended_; });
}

INSTANTIATE_TEST_SUITE_P(Pausers, PauserContract, ::testing::Values(Kind::kLinux, Kind::kPlayed),
                         [](const ::testing::TestParamInfo<Kind>& one) {
                           return one.param == Kind::kLinux ? "Linux" : "Played";
                         });

}  // namespace
}  // namespace sharewell::engine
