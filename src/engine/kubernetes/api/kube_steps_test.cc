// What a watch over the nodes is told of pods that run, and what becomes of the steps that it
// tells.
#include <gmock/gmock.h>

#include "engine/kubernetes/control/kube_control.h"
#include "testing/fake_kube.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::FakeKube;
using fixtures::FakeKubeRunner;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

class KubeStepsTest : public ::testing::Test {
 protected:
  KubeStepsTest() {
    kube_.AddNode("n0", {"GPU-0", "-", "GPU-1"}, "V100");
    KubeControlOptions options = FakeKubeRunner::Options(kube_);
    options.steps = [this](const std::map<std::int64_t, WatchedRun>& running) {
      running_ = running;
      ++asked_;
      return steps_;
    };
    uid_ = kube_.AddPod("a", {.lasts = Seconds(60), .owner = "x"});
    control_ = std::make_unique<KubeControl>(options);
    kube_.EmitAll(*control_);
    control_->Open(kube_.now());
    control_->Recover();
  }
  void Live(double seconds) {
    const Seconds until = kube_.now() + Seconds(seconds);
    while (kube_.now() < until) {
      kube_.Emit(*control_);
      control_->Cycle(kube_.now(), told_);
      kube_.Advance(kube_.now() + Seconds(0.25));
    }
  }
  void Start() {
    Live(0.5);
    RunRequest request;
    request.id = {1, 1};
    request.nodes = {"n0"};
    request.gpus = {{0, "GPU-1", "V100"}};
    request.shares = true;
    request.cores = 1;
    request.expected_memory = core::GiB(10);
    control_->Start(request);
    Live(4);
  }
  std::vector<double> Progress() const {
    std::vector<double> steps;
    for (const RunEvent& event : told_) {
      if (const auto* told = std::get_if<RunProgress>(&event)) steps.push_back(told->steps);
    }
    return steps;
  }

  FakeKube kube_;
  std::string uid_;
  std::unique_ptr<KubeControl> control_;
  std::map<std::int64_t, WatchedRun> running_;
  std::map<std::int64_t, ToldSteps> steps_;
  int asked_ = 0;
  std::vector<RunEvent> told_;
};

TEST_F(KubeStepsTest, WhoWatchesIsToldPodsByUidAndGpusByTheirPlaceOnTheNode) {
  Live(1);
  EXPECT_THAT(running_, IsEmpty()) << "it waits";
  Start();
  ASSERT_THAT(running_, SizeIs(1));
  const WatchedRun& run = running_.at(1);
  EXPECT_THAT(run.nodes, ElementsAre("n0"));
  EXPECT_THAT(run.names, ElementsAre("pod/" + uid_));
  EXPECT_THAT(run.gpus, ElementsAre(Pair("GPU-1", "n0/2")));
}

TEST_F(KubeStepsTest, StepsAreToldOnWhenThereAreMoreAndAskedForOnceASecond) {
  Start();
  steps_[1] = {100, Seconds(8)};
  steps_[77] = {5, Seconds(0)};  // of nobody
  Live(3);
  steps_[1].steps = 90;  // an agent that was started again
  Live(3);
  steps_[1].steps = 130;
  Live(3);
  EXPECT_THAT(Progress(), ElementsAre(100, 130));
  const int before = asked_;
  Live(10);
  EXPECT_LE(asked_ - before, 11);
  EXPECT_GE(asked_ - before, 9);
}

}  // namespace
}  // namespace sharewell::engine
