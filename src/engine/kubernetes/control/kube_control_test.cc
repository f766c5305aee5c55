#include "engine/kubernetes/control/kube_control.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "testing/kube_control_fixture.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::FakeKube;
using fixtures::FakeKubeRunner;
using fixtures::KubeControlTest;
using fixtures::KubeTold;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST_F(KubeControlTest, NodesAreReadWithTheirGpus) {
  kube_.AddNode("bad", {"GPU-9"}, "Voodoo");
  Begin();
  const auto nodes = control_->Nodes();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, "n0");
  EXPECT_EQ(nodes[0].cores, 16);
  EXPECT_EQ(nodes[0].memory, core::GiB(64));
  EXPECT_EQ(nodes[0].gpu_memory, core::GiB(32));
  EXPECT_EQ(nodes[1].gpus[1].uuid, "GPU-3");
  EXPECT_THAT(control_->Models(), ElementsAre("V100"));
  EXPECT_THAT(control_->remarks(), ElementsAre(HasSubstr("'Voodoo' is not known")));
}

TEST_F(KubeControlTest, PodsAreToldInTheOrderTheyWereMade) {
  kube_.AddPod("b", {.owner = "x"});
  kube_.Advance(Seconds(2));
  kube_.AddPod("a");
  kube_.AddPod("other", {.scheduler = "default-scheduler"});
  Begin();
  Live(1);
  const auto told = Told<JobSubmitted>();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].job, 1);
  EXPECT_EQ(told[0].as.asked.name, "b");
  EXPECT_EQ(told[0].as.user.name, "team");
  EXPECT_EQ(told[1].as.asked.name, "a");
  EXPECT_THAT(told[1].as.remark, HasSubstr("may-evict"));
}

TEST_F(KubeControlTest, S8_APodWhoseModelIsNotPredictedYetKeepsNobodyWaiting) {
  std::optional<core::Result<core::Needs>> predicted;
  options_ = [&](FakeKube& kube) {
    KubeControlOptions options = FakeKubeRunner::Options(kube);
    options.predict = [&](const std::string& name_space, const auto&, const auto&) {
      EXPECT_EQ(name_space, "team");
      return predicted;
    };
    return options;
  };
  kube_.AddPod("a", {.owner = "x", .annotations = {{"model", "large.onnx"}}});
  kube_.AddPod("b", {.owner = "x"});
  Begin();
  Live(1);
  ASSERT_EQ(Told<JobSubmitted>().size(), 1U);
  EXPECT_EQ(Last<JobSubmitted>().as.asked.name, "b");
  predicted = core::FailedError("it is no model");
  Live(1);
  ASSERT_EQ(Told<JobSubmitted>().size(), 2U);
  EXPECT_EQ(Last<JobSubmitted>().as.asked.name, "a");
  EXPECT_THAT(Last<JobSubmitted>().as.remark, HasSubstr("it is no model"));
}

TEST_F(KubeControlTest, AStartIsClaimedThenBoundInOneWrite) {
  kube_.AddPod("a", {.lasts = Seconds(20), .owner = "x"});
  Begin();
  Live(0.5);
  RunRequest run = RunOf(1, "n1", {"GPU-3"});
  run.thread_share = 0.4;
  run.gpu_memory = core::GiB(8);
  control_->Start(run);
  Live(3);
  EXPECT_EQ(kube_.pod("team/a")["spec"]["nodeName"], "n1");
  EXPECT_EQ(AnnotationOf("team/a", "gpu-ids"), "GPU-3");
  EXPECT_EQ(AnnotationOf("team/a", "sm-share"), "40");
  EXPECT_EQ(AnnotationOf("team/a", "memory-limit"), "0=8192M");
  EXPECT_EQ(AnnotationOf("team/a", "job"), "1");
  EXPECT_THAT(ClaimsOn("n1"), HasSubstr("1.1 GPU-3 sm:40 mem:8192 cores:1 shares limited"));
  EXPECT_EQ(Last<RunStarted>().id, (RunId{1, 1}));
  EXPECT_THAT(Told<RunEnded>(), IsEmpty());
  Live(30);
  EXPECT_EQ(Last<RunEnded>().end.exit_code, 0);
  EXPECT_FALSE(Last<RunEnded>().end.stopped);
  EXPECT_EQ(ClaimsOn("n1"), "") << "its claim went with it";
  EXPECT_EQ(Requests("/binding"), 1);
}

TEST_F(KubeControlTest, AnAnswerThatGetsLostNeitherBindsTwiceNorLosesThePod) {
  for (const auto fault :
       {FakeKube::Fault::kLost, FakeKube::Fault::kFails, FakeKube::Fault::kBusy}) {
    for (int which = 0; which < 2; ++which) {  // the claim, the binding
      FakeKube kube;
      kube.AddNode("n0", {"GPU-0"}, "V100");
      kube.AddPod("a", {.lasts = Seconds(100), .owner = "x"});
      KubeControl control(FakeKubeRunner::Options(kube));
      kube.EmitAll(control);
      control.Open(Seconds(0));
      std::vector<RunEvent> told;
      control.Cycle(kube.now(), told);
      kube.faults = which == 0 ? std::deque{fault} : std::deque{FakeKube::Fault::kNone, fault};
      control.Start(RunOf(1, "n0", {"GPU-0"}));
      for (int i = 0; i < 60; ++i) {
        kube.Advance(kube.now() + Seconds(0.25));
        kube.Emit(control);
        control.Cycle(kube.now(), told);
      }
      EXPECT_EQ(kube.starts().at("team/a"), 1);
      EXPECT_EQ(std::count_if(
                    told.begin(), told.end(),
                    [](const RunEvent& one) { return std::holds_alternative<RunStarted>(one); }),
                1);
      EXPECT_EQ(kube.wrong, "");
    }
  }
}

TEST_F(KubeControlTest, TwoWhoBelieveToLeadDoNotOverCommitAGpu) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "y"});
  Begin();
  Live(0.5);
  KubeControl other(FakeKubeRunner::Options(kube_));
  kube_.EmitAll(other);
  other.Open(kube_.now());
  std::vector<RunEvent> heard;
  other.Cycle(kube_.now(), heard);
  RunRequest a = RunOf(1, "n0", {"GPU-0"}), b = RunOf(2, "n0", {"GPU-0"});
  a.shares = b.shares = false;
  control_->Start(a);
  other.Start(b);
  // Neither has seen the other's claim when it writes its own.
  control_->Cycle(kube_.now(), told_);
  other.Cycle(kube_.now(), heard);
  for (int i = 0; i < 100; ++i) {
    kube_.Advance(kube_.now() + Seconds(0.25));
    kube_.EmitAll(*control_);
    kube_.EmitAll(other);
    control_->Cycle(kube_.now(), told_);
    other.Cycle(kube_.now(), heard);
  }
  EXPECT_EQ(kube_.Running().size(), 1U);
  EXPECT_EQ(
      std::count_if(heard.begin(), heard.end(),
                    [](const RunEvent& one) { return std::holds_alternative<StartRefused>(one); }),
      1);
}

// One binds the pod; the other gives up its own claim for it, and no other.
TEST_F(KubeControlTest, TwoWhoBelieveToLeadClaimForTheSamePod) {
  for (const char* second : {"n1", "n0"}) {
    const std::string name = fmt::format("a-{}", second);
    kube_.AddPod(name, {.lasts = Seconds(500), .owner = "x"});
    Begin();
    Live(0.5);
    const std::int64_t job = Last<JobSubmitted>().job;
    KubeControl other(FakeKubeRunner::Options(kube_));
    kube_.EmitAll(other);
    other.Open(kube_.now());
    other.Recover();
    std::vector<RunEvent> heard;
    other.Cycle(kube_.now(), heard);
    RunRequest here = RunOf(job, "n0", {"GPU-0"}), there = RunOf(job, second, {"GPU-1"});
    if (there.nodes.front() == "n1") there.gpus.front().uuid = "GPU-2";
    control_->Start(here);
    other.Start(there);
    control_->Cycle(kube_.now(), told_);
    other.Cycle(kube_.now(), heard);
    for (int i = 0; i < 250; ++i) {
      kube_.Advance(kube_.now() + Seconds(0.25));
      kube_.EmitAll(other);
      kube_.EmitAll(*control_);
      other.Cycle(kube_.now(), heard);
      control_->Cycle(kube_.now(), told_);
    }
    const nlohmann::json pod = kube_.pod("team/" + name);
    const std::string node = pod["spec"]["nodeName"];
    const std::string uid = pod["metadata"]["uid"];
    const std::string claims =
        kube_.node(node)["metadata"]["annotations"].value("sharewell.io/claims", "");
    EXPECT_THAT(claims, HasSubstr(uid)) << "of whoever bound it";
    EXPECT_THAT(claims, HasSubstr(AnnotationOf("team/" + name, "gpu-ids")));
    kube_.DeletePod("team/" + name);
    Live(10);
  }
}

TEST_F(KubeControlTest, WhatDoesNotFitTheNodeIsRefusedInWords) {
  kube_.AddPod("a", {.owner = "x", .cpu = "10"});
  kube_.AddPod(
      "sys",
      {.lasts = Seconds(1e6), .scheduler = "other", .cpu = "10", .spec = {{"nodeName", "n0"}}});
  Begin();
  Live(0.5);
  EXPECT_EQ(Last<HostTaken>().cores, 10);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(0.5);
  EXPECT_THAT(Last<StartRefused>().why, HasSubstr("6 CPUs left, and it asks for 10 CPUs"));
  control_->Start(RunOf(1, "n1", {"GPU-2"}, 2));
  Live(1);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{1, 2}));
}

TEST_F(KubeControlTest, AStopEvictsAndTheOwnersNextPodIsTheSameJob) {
  kube_.knows_policy_v1 = false;  // as in 1.20
  kube_.remaking = Seconds(3);
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  control_->Stop({1, 1});
  Live(3);
  EXPECT_THAT(Last<TermsChanged>().terms.waits_for,
              HasSubstr("waits for the pod that Job 'x' makes"));
  Live(3);
  EXPECT_TRUE(Last<RunEnded>().end.stopped);
  EXPECT_THAT(Told<JobWithdrawn>(), IsEmpty());
  EXPECT_EQ(Last<TermsChanged>().terms.waits_for, "") << "it is there";
  EXPECT_EQ(Told<JobSubmitted>().size(), 1U);
  control_->Start(RunOf(1, "n1", {"GPU-2"}, 2));
  Live(1);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{1, 2}));
}

// As the controllers of Jobs and ReplicaSets do.
TEST_F(KubeControlTest, TheNextPodMayComeBeforeTheEvictedOneIsGone) {
  for (const bool gone : {false, true}) {
    const std::string name = gone ? "b" : "a";
    kube_.AddPod(name, {.lasts = Seconds(500), .owner = "owner-" + name});
    Begin();
    Live(0.5);
    const std::int64_t job = Last<JobSubmitted>().job;
    control_->Start(RunOf(job, "n0", {"GPU-0"}));
    Live(2);
    kube_.leaving = Seconds(gone ? 0 : 3);
    kube_.remaking = Seconds(1000);
    control_->Stop({job, 1});
    kube_.Emit(*control_);
    control_->Cycle(kube_.now(), told_);
    kube_.AddPod(name + "-next", {.lasts = Seconds(500), .owner = "owner-" + name});
    Live(1);
    told_.clear();
    Live(5);
    EXPECT_THAT(Told<JobSubmitted>(), IsEmpty()) << "it is the same job";
    control_->Start(RunOf(job, "n1", {"GPU-2"}, 2));
    Live(2);
    EXPECT_EQ(kube_.pod("team/" + name + "-next")["spec"].value("nodeName", ""), "n1");
    kube_.DeletePod("team/" + name + "-next");
    Live(5);
  }
}

TEST_F(KubeControlTest, AnEvictedPodThatNobodyMakesAgainIsWithdrawn) {
  kube_.AddPod("a", {.lasts = Seconds(500)});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  control_->Stop({1, 1});
  Live(2);
  EXPECT_THAT(Last<JobWithdrawn>().why, HasSubstr("nothing makes its pod again"));
  EXPECT_TRUE(Last<RunEnded>().end.stopped);
}

TEST_F(KubeControlTest, APodWhoseBudgetForbidsItsEvictionRunsOnUntilItIsStoppedAgain) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  kube_.budgets = {"team/a"};
  control_->Stop({1, 1});
  Live(40);
  ASSERT_EQ(Told<StopRefused>().size(), 1U);
  EXPECT_THAT(Last<StopRefused>().why, HasSubstr("PodDisruptionBudget"));
  EXPECT_EQ(control_->written().evictions, 1) << "it is not asked again unless it is told to";
  control_->Stop({1, 1});
  Live(1);
  EXPECT_EQ(Told<StopRefused>().size(), 2U) << "at once";
  EXPECT_THAT(Told<RunEnded>(), IsEmpty());
  kube_.budgets.clear();
  Live(40);
  EXPECT_THAT(Told<RunEnded>(), IsEmpty());
  control_->Stop({1, 1});
  Live(5);
  EXPECT_EQ(Told<RunEnded>().size(), 1U);
}

TEST_F(KubeControlTest, OfAGroupThatIsLeavingTheRestIsToFollow) {
  const std::map<std::string, std::string> group{{"pod-group", "g"}, {"pod-group-size", "2"}};
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x", .annotations = group});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "x", .annotations = group});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0", "GPU-1"}));
  Live(2);
  kube_.budgets = {"team/b"};
  control_->Stop({1, 1});
  Live(20);
  EXPECT_THAT(Told<StopRefused>(), IsEmpty()) << "one of them has gone";
  EXPECT_THAT(Last<RunNote>().message, HasSubstr("PodDisruptionBudget"));
  EXPECT_THAT(Told<JobWithdrawn>(), IsEmpty());
  kube_.budgets.clear();
  Live(30);
  EXPECT_EQ(Told<RunEnded>().size(), 1U);
}

TEST_F(KubeControlTest, AServerThatHasTooMuchToDoIsAskedAgain) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  kube_.refuse = {{"/eviction", 429}};
  control_->Stop({1, 1});
  Live(20);
  EXPECT_THAT(Told<StopRefused>(), IsEmpty());
  kube_.refuse.clear();
  Live(20);
  EXPECT_EQ(Told<RunEnded>().size(), 1U);
}

TEST_F(KubeControlTest, GpusAreNotSharedWhereNoAgentIsHeard) {
  std::map<std::string, std::optional<bool>> heard{{"n0", std::nullopt}, {"n1", true}};
  options_ = [&heard](FakeKube& kube) {
    KubeControlOptions options = FakeKubeRunner::Options(kube);
    options.watched = [&heard](const std::string& node) { return heard[node]; };
    return options;
  };
  Begin();
  for (const RunnerNode& node : control_->Nodes()) {
    EXPECT_EQ(node.exclusive, node.name == "n0") << "until it is known";
  }
  Live(2);
  EXPECT_THAT(Told<NodeChanged>(), IsEmpty());
  heard["n0"] = false;
  Live(2);
  ASSERT_EQ(Told<NodeChanged>().size(), 1U) << "once, to say why";
  EXPECT_TRUE(Last<NodeChanged>().exclusive);
  EXPECT_THAT(Last<NodeChanged>().why, HasSubstr("no agent is heard there"));
  heard = {{"n0", true}, {"n1", false}};
  Live(2);
  const auto told = Told<NodeChanged>();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[1].node, "n0");
  EXPECT_FALSE(told[1].exclusive);
  EXPECT_THAT(told[1].why, HasSubstr("pods may share its GPUs"));
  EXPECT_TRUE(told[2].exclusive);
}

TEST_F(KubeControlTest, DeletedByItsUser) {
  kube_.AddPod("waits", {.owner = "x"});
  kube_.AddPod("runs", {.lasts = Seconds(500), .owner = "y"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));  // "runs": by name
  Live(1);
  kube_.DeletePod("team/waits");
  kube_.DeletePod("team/runs");
  Live(2);
  const auto gone = Told<JobWithdrawn>();
  ASSERT_EQ(gone.size(), 2U);
  EXPECT_THAT(gone[0].why, HasSubstr("deleted in Kubernetes"));
  EXPECT_EQ(Told<RunEnded>().size(), 1U);
}

TEST_F(KubeControlTest, CancelDeletesWhetherItRunsOrWaits) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "y"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  control_->Cancel({1, 1});
  control_->CancelWaiting(2);
  Live(3);
  EXPECT_FALSE(kube_.HasPod("team/a"));
  EXPECT_FALSE(kube_.HasPod("team/b"));
  EXPECT_EQ(Last<RunEnded>().id, (RunId{1, 1}));
  EXPECT_EQ(Requests("/eviction"), 0);
}

TEST_F(KubeControlTest, AFailureHasItsExitCode) {
  kube_.AddPod("a", {.lasts = Seconds(5), .exit_code = 137, .owner = "x"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(8);
  EXPECT_EQ(Last<RunEnded>().end.exit_code, 137);
  EXPECT_EQ(Last<RunEnded>().end.signal, 9);
  EXPECT_FALSE(Last<RunEnded>().end.stopped);
}

TEST_F(KubeControlTest, AGroupStartsTogetherOrNotAtAll) {
  KubeTold told{.lasts = Seconds(500), .owner = "x"};
  told.annotations = {{"pod-group", "g"}, {"pod-group-size", "2"}};
  kube_.AddPod("g-0", told);
  Begin();
  Live(0.5);
  EXPECT_THAT(Last<JobSubmitted>().as.terms.waits_for, HasSubstr("1 of 2 pods are there"));
  EXPECT_EQ(Last<JobSubmitted>().as.asked.gpus, 2);
  kube_.AddPod("g-1", told);
  Live(0.5);
  EXPECT_EQ(Last<TermsChanged>().terms.waits_for, "");
  EXPECT_EQ(Told<JobSubmitted>().size(), 1U) << "one job";
  RunRequest run = RunOf(1, "n0", {"GPU-1", "GPU-2"});
  run.nodes = {"n0", "n1"};
  kube_.ChangeNode("n1", {{"spec", {{"unschedulable", true}}}});
  control_->Start(run);
  Live(2);
  EXPECT_THAT(Last<StartRefused>().why, HasSubstr("cordoned"));
  EXPECT_THAT(kube_.Running(), IsEmpty()) << "none";
  kube_.ChangeNode("n1", {{"spec", {{"unschedulable", nullptr}}}});
  run.id.attempt = 2;
  control_->Start(run);
  Live(2);
  EXPECT_THAT(kube_.Running(), ElementsAre("team/g-0", "team/g-1"));
  EXPECT_EQ(AnnotationOf("team/g-0", "gpu-ids"), "GPU-1");
  EXPECT_EQ(AnnotationOf("team/g-1", "gpu-ids"), "GPU-2");
  control_->Stop({1, 2});
  Live(4);
  EXPECT_EQ(Last<RunEnded>().id, (RunId{1, 2}));
  EXPECT_EQ(Last<TermsChanged>().terms.waits_for, "") << "both were made again";
}

TEST_F(KubeControlTest, AMemberThatIsReplacedBetweenTwoLooks) {
  KubeTold told;
  told.annotations = {{"pod-group", "g"}, {"pod-group-size", "2"}};
  Begin();
  kube_.AddPod("a", told);
  Live(1);
  EXPECT_THAT(Last<JobSubmitted>().as.terms.waits_for, HasSubstr("1 of 2 pods"));
  kube_.DeletePod("team/a");
  kube_.AddPod("b", told);
  kube_.AddPod("c", told);
  Live(1);
  EXPECT_EQ(Told<JobSubmitted>().size(), 1U);
  EXPECT_THAT(Told<JobWithdrawn>(), IsEmpty());
  EXPECT_EQ(Last<TermsChanged>().terms.waits_for, "");
}

TEST_F(KubeControlTest, AStartMayComeBeforeItsPodIsRead) {
  Begin();
  kube_.AddPod("a", {.number = 7});
  control_->Start(RunOf(7, "n0", {"GPU-0"}));
  Live(2);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{7, 1}));
  EXPECT_THAT(Told<JobSubmitted>(), IsEmpty());
}

TEST_F(KubeControlTest, WhatCannotBeJudgedIsNeverBound) {
  KubeTold told{.owner = "x"};
  told.spec = {
      {"affinity",
       {{"podAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", {{{"a", 1}}}}}}}}};
  kube_.AddPod("a", told);
  kube_.AddPod("b", {.owner = "y", .annotations = {{"gpu-ids", "GPU-0"}}});
  Begin();
  Live(0.5);
  const auto submitted = Told<JobSubmitted>();
  ASSERT_EQ(submitted.size(), 2U);
  EXPECT_THAT(submitted[0].as.terms.waits_for, HasSubstr("spec.affinity.podAffinity"));
  EXPECT_THAT(submitted[1].as.terms.waits_for, HasSubstr("sharewell.io/gpu-ids"));
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  EXPECT_THAT(Last<StartRefused>().why, HasSubstr("spec.affinity.podAffinity"));
  EXPECT_EQ(Requests("/binding"), 0);
}

TEST_F(KubeControlTest, SelectorsTaintsAndVolumesSayWhere) {
  kube_.ChangeNode("n0", {{"metadata", {{"labels", {{"disk", "ssd"}}}}}});
  kube_.ChangeNode(
      "n1",
      {{"spec", {{"taints", {{{"key", "team"}, {"value", "b"}, {"effect", "NoSchedule"}}}}}}});
  kube_.AddVolume(
      "data", "pv",
      {{{"matchFields", {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {"n1"}}}}}}});
  kube_.AddVolume("late", "");
  kube_.AddPod("a-any", {.owner = "a", .spec = {{"tolerations", {{{"operator", "Exists"}}}}}});
  kube_.AddPod("b-ssd", {.owner = "b", .spec = {{"nodeSelector", {{"disk", "ssd"}}}}});
  kube_.AddPod("c-taint", {.owner = "c"});
  kube_.AddPod("d-none", {.owner = "d", .spec = {{"nodeSelector", {{"disk", "hdd"}}}}});
  const auto with_claim = [](const char* name) {
    return json{{"tolerations", {{{"operator", "Exists"}}}},
                {"volumes", {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", name}}}}}}};
  };
  kube_.AddPod("e-volume", {.owner = "e", .spec = with_claim("data")});
  kube_.AddPod("f-late", {.owner = "f", .spec = with_claim("late")});
  Begin();
  Live(0.5);
  const auto told = Told<JobSubmitted>();
  ASSERT_EQ(told.size(), 6U);
  EXPECT_THAT(told[0].as.terms.nodes, IsEmpty()) << "any";
  EXPECT_THAT(told[1].as.terms.nodes, ElementsAre("n0"));
  EXPECT_THAT(told[2].as.terms.nodes, ElementsAre("n0"));
  EXPECT_THAT(told[3].as.terms.waits_for, HasSubstr("n0: its nodeSelector wants 'disk=hdd'"));
  EXPECT_THAT(told[4].as.terms.nodes, ElementsAre("n1"));
  EXPECT_THAT(told[5].as.terms.waits_for, HasSubstr("'late' is bound"));
}

TEST_F(KubeControlTest, WordsStandInTheConditionWithTheNumber) {
  kube_.AddPod("a", {.owner = "x"});
  Begin();
  Live(0.5);
  control_->notices().Put(1, "no GPU is free");
  Live(0.5);
  EXPECT_EQ(ConditionOf("team/a", "PodScheduled"), "no GPU is free");
  EXPECT_EQ(ConditionOf("team/a", "sharewell.io/Job"), "1");
  EXPECT_THAT(kube_.events, ElementsAre("no GPU is free"));
  const int before = Requests("/status");
  control_->notices().Put(1, "no GPU is free");
  Live(20);
  EXPECT_EQ(Requests("/status"), before) << "only when it changes";
  for (int i = 0; i < 40; ++i) {
    control_->notices().Put(1, fmt::format("{} jobs are ahead", i));
    Live(0.5);
  }
  EXPECT_LE(Requests("/status"), before + 4) << "and not all the time";
  Live(15);
  EXPECT_EQ(ConditionOf("team/a", "PodScheduled"), "39 jobs are ahead");
}

TEST_F(KubeControlTest, WhatIsForPeopleWaitsForPodsThatStart) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  Begin();
  Live(0.5);
  for (int i = 0; i < 100; ++i) kube_.AddPod(fmt::format("w{}", i), {.owner = "y"});
  Live(0.5);
  for (int job = 2; job <= 101; ++job) control_->notices().Put(job, "no GPU is free");
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  kube_.log.clear();
  control_->Cycle(kube_.now(), told_);
  EXPECT_EQ(kube_.log.front().path, "/api/v1/nodes/n0") << "its claim is said first";
  EXPECT_LE(kube_.log.size(), 10U) << "and little else with it";
  Live(1);
  EXPECT_EQ(AnnotationOf("team/a", "gpu-ids"), "GPU-0");
  Live(5);
  EXPECT_EQ(Requests("/status"), 100) << "all are told in the end";
  EXPECT_EQ(Requests("/events"), 101);
}

TEST_F(KubeControlTest, OfWhatHappenedToAPodTheNewestIsTold) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  for (int i = 0; i < 100; ++i) kube_.AddPod(fmt::format("w{}", i), {.owner = "y"});
  Begin();
  Live(0.5);
  for (int job = 1; job <= 101; ++job) control_->notices().Put(job, "no GPU is free");
  kube_.Emit(*control_);
  control_->Cycle(kube_.now(), told_);
  const auto before = kube_.events.size();
  ASSERT_LT(before, 50U);
  // Those that are gone are not spoken of any more.
  for (int i = 0; i < 100; ++i) kube_.DeletePod(fmt::format("team/w{}", i));
  Live(20);
  EXPECT_LT(kube_.events.size(), 60U);
}

TEST_F(KubeControlTest, ANodeThatIsSilentTakesNobodyAndIsLostLater) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  kube_.SetReady("n0", false);
  Live(5);
  EXPECT_THAT(Last<GpuTaken>().by, HasSubstr("not ready"));
  EXPECT_THAT(Told<NodeWent>(), IsEmpty());
  Live(60);
  EXPECT_EQ(Last<NodeWent>().node, "n0");
  EXPECT_THAT(Told<RunEnded>(), IsEmpty()) << "it may still run there";
  control_->Stop({1, 1});
  Live(10);
  EXPECT_TRUE(Last<RunEnded>().end.lost);
  kube_.SetReady("n0", true);
  Live(1);
  EXPECT_EQ(Last<NodeCame>().node.name, "n0");
}

TEST_F(KubeControlTest, AShortSilenceHarmsNobody) {
  Begin();
  Live(0.5);
  kube_.SetReady("n0", false);
  Live(5);
  kube_.SetReady("n0", true);
  Live(1);
  EXPECT_EQ(Last<GpuTaken>().by, "") << "free again";
  EXPECT_THAT(Told<NodeWent>(), IsEmpty());
}

TEST_F(KubeControlTest, GpusOfTheStockPluginAreLeftAlone) {
  Begin();
  Live(0.5);
  kube_.AddPod(
      "stock",
      {.lasts = Seconds(10),
       .scheduler = "default-scheduler",
       .spec = {{"nodeName", "n1"},
                {"containers", {{{"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}});
  Live(1);
  std::set<std::string> taken;
  for (const GpuTaken& event : Told<GpuTaken>()) taken.insert(event.gpu);
  EXPECT_THAT(taken, UnorderedElementsAre("GPU-2", "GPU-3"));
  Live(12);
  EXPECT_EQ(Last<GpuTaken>().by, "");
}

TEST_F(KubeControlTest, ARestartReadsAllBack) {
  KubeTold group{.lasts = Seconds(500), .owner = "x"};
  group.annotations = {{"pod-group", "g"}, {"pod-group-size", "2"}};
  kube_.AddPod("g-0", group);
  kube_.AddPod("g-1", group);
  kube_.AddPod("h", {.lasts = Seconds(500), .owner = "y"});
  kube_.AddPod("waits", {.owner = "z"});
  Begin();
  Live(0.5);
  RunRequest run = RunOf(1, "n0", {"GPU-0", "GPU-1"});
  run.thread_share = 0.5;
  control_->Start(run);
  control_->Start(RunOf(2, "n0", {"GPU-0"}, 3));
  control_->notices().Put(3, "no GPU is free");
  Live(2);
  told_.clear();
  // A user cannot change what is believed after a restart.
  kube_.ChangePod(
      "team/h",
      {{"metadata", {{"annotations", {{"sharewell.io/gpu-ids", ""}, {"sharewell.io/job", "1"}}}}}});
  auto found = Begin();
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id, (RunId{1, 1}));
  EXPECT_THAT(found[0].nodes, ElementsAre("n0"));
  ASSERT_EQ(found[0].gpus.size(), 2U);
  EXPECT_EQ(found[0].thread_share, 0.5);
  EXPECT_EQ(found[1].id, (RunId{2, 3}));
  EXPECT_EQ(found[1].gpus[0].uuid, "GPU-0");
  control_->Expect(3);
  control_->Expect(77);
  Live(1);
  EXPECT_EQ(Told<RunStarted>().size(), 2U);
  EXPECT_THAT(Told<JobSubmitted>(), IsEmpty()) << "it has its number in its status";
  EXPECT_EQ(Last<JobWithdrawn>().job, 77);
  EXPECT_EQ(Last<TermsChanged>().job, 3);
  kube_.AddPod("new", {.owner = "n"});
  Live(0.5);
  EXPECT_EQ(Last<JobSubmitted>().job, 4);
}

TEST_F(KubeControlTest, KilledBetweenTheClaimAndTheBinding) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "y"});
  Begin();
  Live(0.5);
  control_->notices().Put(1, "waits");
  control_->notices().Put(2, "waits");
  Live(0.5);
  RunRequest run = RunOf(1, "n0", {"GPU-0"});
  run.shares = false;
  control_->Start(run);
  control_->Cycle(kube_.now(), told_);
  ASSERT_NE(ClaimsOn("n0"), "");
  ASSERT_EQ(Requests("/binding"), 0);
  EXPECT_THAT(Begin(), IsEmpty());
  Live(0.5);
  RunRequest other = RunOf(2, "n0", {"GPU-0"});
  control_->Start(other);
  Live(1);
  EXPECT_THAT(Last<StartRefused>().why, HasSubstr("GPU-0 is claimed by job 1"));
  Live(40);
  EXPECT_EQ(ClaimsOn("n0"), "") << "no reservation leaks";
  other.id.attempt = 2;
  control_->Start(other);
  Live(1);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{2, 2}));
}

TEST_F(KubeControlTest, ARightThatIsMissingIsSaid) {
  kube_.AddPod("a", {.owner = "x"});
  Begin();
  Live(0.5);
  kube_.refuse["/nodes/n0"] = 403;
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  EXPECT_THAT(Last<StartRefused>().why, HasSubstr("patch nodes"));
  EXPECT_THAT(control_->problem(), HasSubstr("patch nodes"));
}

TEST_F(KubeControlTest, WhoDoesNotLeadWritesNothing) {
  kube_.AddPod("a", {.owner = "x"});
  Begin();
  control_->SetLeads(false);
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  control_->notices().Put(1, "words");
  Live(5);
  EXPECT_THAT(kube_.log, IsEmpty());
  EXPECT_THAT(control_->problem(), StartsWith("another server leads"));
}

TEST_F(KubeControlTest, SomebodyElseBindsIt) {
  kube_.AddPod("a", {.owner = "x"});
  Begin();
  Live(0.5);
  kube_.ChangePod("team/a", {{"spec", {{"nodeName", "n1"}}}});
  Live(1);
  EXPECT_THAT(Last<JobWithdrawn>().why, HasSubstr("somebody else bound pod 'team/a'"));
}

TEST_F(KubeControlTest, SomebodyElseBindsItWhileItIsStarted) {
  for (const bool claimed : {false, true}) {
    const std::string name = claimed ? "b" : "a";
    kube_.AddPod(name, {.lasts = Seconds(500), .owner = "x"});
    Begin();
    Live(0.5);
    const std::int64_t job = Last<JobSubmitted>().job;
    control_->Start(RunOf(job, "n0", {"GPU-0"}));
    if (claimed) control_->Cycle(kube_.now(), told_);
    kube_.ChangePod("team/" + name,
                    {{"spec", {{"nodeName", "elsewhere"}}}, {"status", {{"phase", "Running"}}}});
    Live(1);
    EXPECT_THAT(Last<JobWithdrawn>().why, HasSubstr("somebody else bound"));
    EXPECT_EQ(Last<RunEnded>().id, (RunId{job, 1}));
    EXPECT_THAT(Told<StartRefused>(), IsEmpty()) << "it would be started again";
    control_->CancelWaiting(job);
    Live(20);
    EXPECT_TRUE(kube_.HasPod("team/" + name)) << "it is not ours to delete";
    EXPECT_FALSE(kube_.pod("team/" + name)["metadata"].contains("deletionTimestamp"));
  }
}

}  // namespace
}  // namespace sharewell::engine
