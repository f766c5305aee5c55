// The service over a cluster: nodes that come and go, starts that are refused, and a manager whose
// answers get lost.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "control/service/service.h"
#include "control/service/test_parts.h"
#include "testing/builders.h"
#include "testing/fake_runner.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;
using ::testing::HasSubstr;

engine::RunnerNode NodeOf(int number, const std::string& model = "A") {
  engine::RunnerNode node;
  node.name = fmt::format("n{}", number);
  node.cores = 8;
  node.gpus = {{number, fmt::format("GPU-{}", number), model}};
  return node;
}

class ServiceNodesTest : public ::testing::Test {
 protected:
  ServiceNodesTest() : cluster_(fixtures::ClusterBuilder().Model("A").Node(1).Cores(8).Build()) {}
  void Begin(engine::Runner& runner) {
    GpuView gpu;
    gpu.gpu = NodeOf(0).gpus[0];
    service_ = std::make_unique<Service>(cluster_, std::vector<GpuView>{gpu}, runner, advisor_,
                                         jobs_, ServiceOptions{});
    ASSERT_TRUE(service_->Start());
  }
  void Submit(int gpus, int count = 1) {
    core::Submission job;
    job.command = {"train"};
    job.gpus = gpus;
    job.cores = 1;
    service_->Submit(
        std::vector<core::Submission>(static_cast<std::size_t>(count), job), kAnn,
        [this](core::Result<std::vector<JobPtr>> told) { answered_ = told.has_value(); });
    ASSERT_TRUE(Comes([&] { return answered_.load(); }));
    answered_ = false;
  }
  template <class So>
  bool Comes(So so) {
    for (int i = 0; i < 3000 && !so(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    WaitForTurn(*service_);
    return so();
  }
  bool Is(std::int64_t number, Phase phase) {
    const JobPtr job = service_->board().Find(number);
    return job != nullptr && job->phase == phase;
  }

  core::Cluster cluster_;
  PlainAdvisor advisor_{fixtures::MakePolicy("slot", {})};
  MemoryJobs jobs_;
  HandRunner runner_;
  std::atomic<bool> answered_{false};
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceNodesTest, ANodeThatJoinsIsUsedWithoutARestart) {
  Begin(runner_);
  Submit(1, 2);
  EXPECT_TRUE(Is(2, Phase::kWaiting));
  runner_.Emit(engine::NodeCame{NodeOf(1)});
  runner_.Emit(engine::NodeCame{NodeOf(1)});  // told twice
  ASSERT_TRUE(Comes([&] { return Is(2, Phase::kRunning); }));
  EXPECT_EQ(service_->board().Find(2)->gpus.at(0).uuid, "GPU-1");
  const ServiceView view = service_->View();
  EXPECT_EQ(view.gpus.size(), 2U);
  EXPECT_EQ(view.cluster->nodes().size(), 2U);
  EXPECT_EQ(view.cores, 16);
}

TEST_F(ServiceNodesTest, ANodeOfAnUnknownModelIsNotUsed) {
  Begin(runner_);
  std::atomic<bool> told{false};
  service_->events().Join(0, [&](const auto& event) {
    if (event->kind == "node.unusable") told = true;
  });
  runner_.Emit(engine::NodeCame{NodeOf(1, "Z")});
  EXPECT_TRUE(Comes([&] { return told.load(); }));
  EXPECT_EQ(service_->View().gpus.size(), 1U);
}

TEST_F(ServiceNodesTest, WhatRanOnANodeThatWentWaitsUntilItComes) {
  Begin(runner_);
  Submit(1);
  ASSERT_TRUE(Comes([&] { return Is(1, Phase::kRunning); }));
  runner_.Emit(engine::NodeWent{NodeOf(0).name, "it does not answer"});
  ASSERT_TRUE(Comes([&] { return Is(1, Phase::kWaiting); }));
  EXPECT_THAT(service_->View().gpus.at(0).problem, HasSubstr("node n0: it does not answer"));
  Submit(0);  // no cores there either
  EXPECT_TRUE(Is(2, Phase::kWaiting));
  runner_.Emit(engine::NodeCame{NodeOf(0)});
  EXPECT_TRUE(Comes([&] { return Is(1, Phase::kRunning) && Is(2, Phase::kRunning); }));
  EXPECT_EQ(service_->View().gpus.at(0).problem, "");
  EXPECT_TRUE(runner_.Started({1, 2}));
}

TEST_F(ServiceNodesTest, ARefusedStartIsTriedAgainAndSaysWhyUntilItRuns) {
  runner_.refuse = 1;
  Begin(runner_);
  std::atomic<bool> said{false};
  service_->events().Join(0, [&](const auto& event) {
    if (event->text.find("no licence is free") != std::string::npos) said = true;
  });
  Submit(1);
  ASSERT_TRUE(Comes([&] { return Is(1, Phase::kRunning) && said; }));
  const JobPtr job = service_->board().Find(1);
  EXPECT_EQ(job->attempt, 2);
  EXPECT_EQ(job->note, "") << "it runs now";
  EXPECT_EQ(job->exit_code, std::nullopt);
  EXPECT_FALSE(runner_.Running({1, 1}));
}

// Its clock runs as fast as it is asked, so hours pass in a moment.
TEST_F(ServiceNodesTest, OverAManagerThatLosesAnswersEveryJobComesToOneEnd) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    fixtures::FakeRunnerOptions options;
    options.seed = seed;
    options.refuse = 0.1;
    options.lose = options.lose_command = 0.15;
    options.twice = options.late = 0.3;
    options.list_every = core::Seconds(30);
    fixtures::FakeRunner fake({NodeOf(0)}, options);
    cluster_ = fixtures::ClusterBuilder().Model("A").Node(1).Cores(8).Build();
    jobs_.jobs.clear();
    jobs_.last_event = 0;
    Begin(fake);
    Submit(1, 10);
    Submit(0, 10);
    EXPECT_TRUE(Comes([&] { return service_->board().Live().empty(); }));
    service_->Stop();
    for (std::int64_t number = 1; number <= 20; ++number) {
      EXPECT_EQ(jobs_.jobs.at(number).phase, Phase::kFinished) << "seed " << seed;
      EXPECT_EQ(fake.finished().at(number), 1);
    }
    EXPECT_EQ(fake.wrong, "");
    service_.reset();
  }
}

}  // namespace
}  // namespace sharewell::control
