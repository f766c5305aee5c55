// The service over a Kubernetes cluster that is played, where pods cannot be stopped: a disruption
// budget forbids it now, or nothing would make them again.
#include <gmock/gmock.h>

#include "control/service/service.h"
#include "control/service/test_parts.h"
#include "testing/builders.h"
#include "testing/fake_kube.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;
using core::Seconds;
using fixtures::FakeKube;
using fixtures::FakeKubeRunner;
using ::testing::HasSubstr;

class ServiceKeepsTest : public ::testing::Test {
 protected:
  ServiceKeepsTest() { kube_.AddNode("n0", {"GPU-0", "GPU-1"}, "V100"); }
  // A server; one before it was killed.
  void Begin() {
    service_.reset();
    runner_ = std::make_unique<FakeKubeRunner>(kube_);
    runner_->list_every = Seconds(30);
    runner_->Open();
    const auto nodes = runner_->control.Nodes();
    ASSERT_EQ(nodes.size(), 1U);
    cluster_ = fixtures::ClusterBuilder().Model(nodes[0].gpus[0].model).Node(2).Cores(16).Build();
    std::vector<GpuView> gpus(2);
    for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].gpu = nodes[0].gpus.at(i);
    ServiceOptions options;
    options.foreign_queue = runner_.get();
    service_ = std::make_unique<Service>(cluster_, gpus, *runner_, advisor_, jobs_, options);
    ASSERT_TRUE(service_->Open());
  }
  template <class So>
  bool Comes(So so, double within = 60) {
    const Seconds until = kube_.now() + Seconds(within);
    while (!so() && kube_.now() < until && service_->Turn()) {
    }
    return so();
  }
  void Add(const std::string& name, int priority, bool owned = true) {
    kube_.AddPod(name, {.lasts = Seconds(5000),
                        .owner = owned ? "of-" + name : "",
                        .spec = {{"priority", priority}}});
  }
  bool Runs(const std::string& name) {
    const auto running = kube_.Running();
    return std::find(running.begin(), running.end(), "team/" + name) != running.end();
  }
  // By its name: numbers are given in the order in which pods are seen.
  JobPtr Job(const std::string& name) {
    for (const JobPtr& job : service_->board().Live()) {
      if (job->asked.name == name) return job;
    }
    return nullptr;
  }
  bool Is(const std::string& name, Phase phase) {
    const JobPtr job = Job(name);
    return job != nullptr && job->phase == phase;
  }

  FakeKube kube_;
  core::Cluster cluster_;
  PlainAdvisor advisor_{fixtures::MakePolicy("slot", {})};
  MemoryJobs jobs_;
  std::unique_ptr<FakeKubeRunner> runner_;
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceKeepsTest, AnotherPodGivesWayWhereABudgetForbidsTheFirst) {
  Begin();
  Add("lower", 1);
  ASSERT_TRUE(Comes([&] { return Is("lower", Phase::kRunning); }));
  Add("low", 2);
  ASSERT_TRUE(Comes([&] { return Is("low", Phase::kRunning); }));
  const int attempt = Job("lower")->attempt;
  kube_.budgets = {"team/lower"};
  Add("high", 9);
  EXPECT_TRUE(Comes([&] { return Is("high", Phase::kRunning); }, 30)) << Job("high")->reason;
  EXPECT_FALSE(Runs("low"));
  EXPECT_TRUE(Runs("lower"));
  EXPECT_TRUE(Is("lower", Phase::kRunning)) << "as it has been all the while";
  EXPECT_EQ(Job("lower")->attempt, attempt);
  EXPECT_THAT(Job("lower")->note, HasSubstr("PodDisruptionBudget"));
  EXPECT_EQ(kube_.starts().at("team/lower"), 1);
  EXPECT_EQ(kube_.wrong, "");
}

TEST_F(ServiceKeepsTest, A3_WhatIsLearntIsOfTheNamespace) {
  Begin();
  Add("pod", 1);
  ASSERT_TRUE(Comes([&] { return Is("pod", Phase::kRunning); }));
  EXPECT_EQ(advisor_.needs_asked_for, std::set<std::string>{"team"});
}

TEST_F(ServiceKeepsTest, WithoutAnotherItWaitsSaysWhyAndComesWhenItMay) {
  Begin();
  Add("kept", 5, /*owned=*/false);
  Add("low", 1);
  ASSERT_TRUE(Comes([&] { return Is("low", Phase::kRunning) && Is("kept", Phase::kRunning); }));
  kube_.budgets = {"team/low"};
  Add("high", 9);
  const auto why = [&] { return Job("high") == nullptr ? "" : Job("high")->reason; };
  EXPECT_TRUE(Comes([&] { return why().find("PodDisruptionBudget") != std::string::npos; }))
      << why();
  EXPECT_THAT(why(), HasSubstr("of lower priority, would give way, and cannot be stopped now"));
  EXPECT_FALSE(Comes([&] { return Is("high", Phase::kRunning); }, 200));
  EXPECT_TRUE(Runs("kept")) << "nothing would make it again";
  EXPECT_TRUE(Runs("low"));
  kube_.budgets.clear();
  EXPECT_TRUE(Comes([&] { return Is("high", Phase::kRunning); }, 90)) << why();
  EXPECT_TRUE(Runs("kept"));
  EXPECT_EQ(kube_.wrong, "");
}

TEST_F(ServiceKeepsTest, TheNextServerKnowsWhoKeepsItsPlaceAndHowMuchEachCounts) {
  Begin();
  Add("kept", 1, /*owned=*/false);
  Add("other", 5);
  ASSERT_TRUE(Comes([&] { return Is("kept", Phase::kRunning) && Is("other", Phase::kRunning); }));
  Begin();
  Add("middle", 3);
  EXPECT_FALSE(Comes([&] { return Is("middle", Phase::kRunning); }, 30))
      << "one may not be stopped, and the other counts more";
  Add("high", 9);
  EXPECT_TRUE(Comes([&] { return Is("high", Phase::kRunning); }, 30)) << Job("high")->reason;
  EXPECT_TRUE(Runs("kept"));
  EXPECT_FALSE(Runs("other"));
  EXPECT_EQ(kube_.wrong, "");
}

TEST_F(ServiceKeepsTest, ABudgetThatForbidsItDoesNotKeepAUserFromCancelling) {
  Begin();
  Add("low", 1);
  Add("kept", 9, /*owned=*/false);
  ASSERT_TRUE(Comes([&] { return Is("low", Phase::kRunning) && Is("kept", Phase::kRunning); }));
  kube_.budgets = {"team/low"};
  Add("high", 9);
  ASSERT_TRUE(Comes([&] { return Job("low")->note.find("Budget") != std::string::npos; }));
  const auto number = Job("low")->number;
  service_->Act(Action::kCancel, number, {"root", 0, 0, true},
                [](const core::Result<JobPtr>& told) { EXPECT_TRUE(told.has_value()); });
  EXPECT_TRUE(Comes([&] { return Is("high", Phase::kRunning); }, 30));
  EXPECT_EQ(service_->board().Find(number)->phase, Phase::kCancelled);
}

}  // namespace
}  // namespace sharewell::control
