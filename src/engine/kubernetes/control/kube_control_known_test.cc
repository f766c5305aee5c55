// What is known of pods and nodes while a cluster changes: GPUs that come and go, needs that
// outlive the server, replacements, and what users are told.
#include <gmock/gmock.h>

#include <optional>

#include "engine/kubernetes/pods/pod_known.h"
#include "testing/kube_control_fixture.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::FakeKube;
using fixtures::FakeKubeRunner;
using fixtures::KubeControlTest;
using fixtures::KubeTold;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class KubeKnownTest : public KubeControlTest {
 protected:
  void List(const std::string& node, const json& gpus) {
    kube_.ChangeNode(node, {{"metadata", {{"annotations", {{"sharewell.io/gpus", gpus}}}}}});
  }
  // What NVIDIA's device plugin has to give out there.
  void Advertise(const std::string& node, const char* gpus) {
    kube_.ChangeNode(node, {{"status", {{"allocatable", {{"nvidia.com/gpu", gpus}}}}}});
  }
  void AddStock(const std::string& node, const char* gpus = "1") {
    const json limits = {{"nvidia.com/gpu", gpus}};
    const json container = {{"resources", {{"limits", limits}}}};
    const json spec = {{"nodeName", node}, {"containers", json::array({container})}};
    kube_.AddPod("stock", {.lasts = Seconds(500), .scheduler = "default-scheduler", .spec = spec});
  }
  void Predict(std::optional<core::Result<core::Needs>>* predicted) {
    options_ = [predicted](FakeKube& kube) {
      KubeControlOptions options = FakeKubeRunner::Options(kube);
      if (predicted != nullptr) {
        options.predict = [predicted](const auto&, const auto&, const auto&) { return *predicted; };
      }
      return options;
    };
  }
  static core::Needs SomeNeeds() {
    core::Needs needs;
    needs.from = "resnet50.onnx at batch 64";
    needs.profile.gpu_memory = core::GiB(7);
    needs.sources.gpu_memory = core::Source::kPredicted;
    return needs;
  }
};

TEST_F(KubeKnownTest, K3_AGpuThatIsNotListedAnyMoreTakesNobody) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "y"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  List("n0", "V100 - GPU-1");
  Live(0.5);
  EXPECT_EQ(Last<GpuTaken>().gpu, "GPU-0");
  EXPECT_THAT(Last<GpuTaken>().by, HasSubstr("does not list it"));
  control_->Start(RunOf(2, "n0", {"GPU-0"}));
  Live(0.5);
  EXPECT_THAT(Last<StartRefused>().why, HasSubstr("does not list GPU GPU-0"));
  EXPECT_THAT(Told<RunEnded>(), IsEmpty()) << "what runs there goes on";
  List("n0", nullptr);
  Live(0.5);
  EXPECT_EQ(Last<GpuTaken>().gpu, "GPU-1");
  List("n0", "V100 GPU-0 GPU-1");
  Live(0.5);
  EXPECT_EQ(Last<GpuTaken>().by, "");
  EXPECT_THAT(Told<NodeWent>(), IsEmpty());
}

TEST_F(KubeKnownTest, K3_AnotherGpuHasThePlaceOfOneThatIsGone) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "y"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  List("n0", "V100 GPU-0 GPU-9");
  Live(0.5);
  ASSERT_EQ(Last<NodeCame>().node.gpus.size(), 2U);
  EXPECT_EQ(Last<NodeCame>().node.gpus[0].uuid, "GPU-0");
  EXPECT_EQ(Last<NodeCame>().node.gpus[1].uuid, "GPU-9");
  control_->Start(RunOf(2, "n0", {"GPU-9"}));
  Live(1);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{2, 1}));
  List("n0", "V100 GPU-0 GPU-9 GPU-10");
  Live(0.5);
  EXPECT_THAT(control_->remarks(), Contains(HasSubstr("1 GPUs more than when this server")));
  EXPECT_THAT(Told<RunEnded>(), IsEmpty());
}

TEST_F(KubeKnownTest, K4_WithoutAGpuPodsAreToldWhatIsMissing) {
  for (const char* node : {"n0", "n1"}) List(node, nullptr);
  kube_.AddPod("a", {.owner = "x"});
  Begin();
  EXPECT_THAT(control_->Nodes(), IsEmpty());
  Live(0.5);
  control_->notices().Put(1, "it waits for a node");
  Live(0.5);
  EXPECT_THAT(ConditionOf("team/a", "PodScheduled"), HasSubstr("kubectl annotate node"));
  EXPECT_THAT(kube_.reasons, ElementsAre("Waiting a"));
  List("n1", "V100 GPU-2 GPU-3");
  Live(0.5);
  EXPECT_EQ(Last<NodeCame>().node.name, "n1");
  control_->Start(RunOf(1, "n1", {"GPU-2"}));
  Live(1);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{1, 1}));
}

TEST_F(KubeKnownTest, K1_WhatIsKnownOfAPodOutlivesTheServer) {
  std::optional<core::Result<core::Needs>> predicted = SomeNeeds();
  Predict(&predicted);
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x", .annotations = {{"model", "m.onnx"}}});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "y", .annotations = {{"model", "m.onnx"}}});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  control_->notices().Put(2, "no GPU is free");
  Live(2);
  Predict(nullptr);  // its store and its models are another's
  told_.clear();
  const auto found = Begin();
  ASSERT_EQ(found.size(), 1U);
  ASSERT_TRUE(found[0].asked.needs.has_value());
  EXPECT_EQ(found[0].asked.needs->profile.gpu_memory, core::GiB(7));
  EXPECT_EQ(found[0].asked.needs->sources.gpu_memory, core::Source::kPredicted);
  EXPECT_GT(found[0].submitted, 0);
  Live(0.5);
  ASSERT_TRUE(Last<JobSubmitted>().as.asked.needs.has_value()) << "of one that waits";
  EXPECT_EQ(Last<JobSubmitted>().as.remark, "");
}

TEST_F(KubeKnownTest, K1_NobodyMakesHisOwnWordAnObservation) {
  std::string forged = WriteKnown({SomeNeeds(), {}, "m"});
  const std::string word = "predicted";
  forged.replace(forged.find(word), word.size(), "observed");
  kube_.AddPod("a", {.owner = "x", .annotations = {{"known", forged}}});
  kube_.AddPod("b", {.owner = "y", .annotations = {{"known", "{"}}});
  Begin();
  Live(0.5);
  const auto told = Told<JobSubmitted>();
  ASSERT_EQ(told.size(), 2U);
  for (const JobSubmitted& one : told) {
    EXPECT_FALSE(one.as.asked.needs.has_value());
    EXPECT_THAT(one.as.remark, HasSubstr("sharewell.io/known is not looked at"));
  }
}

TEST_F(KubeKnownTest, K2_AModelWhoseFileComesLaterIsPredictedThen) {
  std::optional<core::Result<core::Needs>> predicted = core::FailedError("no such file");
  Predict(&predicted);
  kube_.AddPod("a", {.owner = "x", .annotations = {{"model", "m.onnx"}}});
  Begin();
  Live(0.5);
  EXPECT_THAT(Last<JobSubmitted>().as.remark, HasSubstr("no such file"));
  Live(30);
  EXPECT_THAT(Told<NeedsKnown>(), IsEmpty());
  predicted = std::nullopt;  // it is being predicted
  Live(15);
  predicted = SomeNeeds();
  Live(15);
  ASSERT_EQ(Told<NeedsKnown>().size(), 1U);
  EXPECT_EQ(Last<NeedsKnown>().needs.profile.gpu_memory, core::GiB(7));
  EXPECT_EQ(Last<NeedsKnown>().remark, "");
}

TEST_F(KubeKnownTest, K6_APodThatWouldNotSeeItsGpuAloneIsNotStarted) {
  kube_.AddPod("a", {.owner = "train", .injected = false});
  kube_.AddPod("cpu", {.owner = "y", .annotations = {{"gpus", "0"}}, .injected = false});
  Begin();
  Live(0.5);
  const auto told = Told<JobSubmitted>();
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT(told[0].as.terms.waits_for, HasSubstr("sharewell kubernetes inject"));
  EXPECT_THAT(told[0].as.terms.waits_for, HasSubstr("`kubectl delete Job train -n team`"));
  EXPECT_EQ(told[1].as.terms.waits_for, "");
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  EXPECT_THAT(Last<StartRefused>().why, HasSubstr("NVIDIA_VISIBLE_DEVICES"));
  EXPECT_EQ(Requests("/binding"), 0);
}

TEST_F(KubeKnownTest, K5_AReplacementJoinsItsGroup) {
  KubeTold told{.lasts = Seconds(500), .owner = "x"};
  told.annotations = {{"pod-group", "g"}, {"pod-group-size", "2"}};
  kube_.AddPod("g-0", told);
  kube_.AddPod("g-1", told);
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0", "GPU-1"}));
  Live(2);
  const std::string before = kube_.pod("team/g-1")["metadata"]["uid"];
  kube_.EndPod("team/g-1", 1);
  Live(1);
  const std::string uid = kube_.AddPod("g-2", told);
  Live(10);
  EXPECT_EQ(AnnotationOf("team/g-2", "gpu-ids"), "GPU-1");
  EXPECT_THAT(ClaimsOn("n0"), HasSubstr(uid + " 1.1 GPU-1"));
  EXPECT_THAT(ClaimsOn("n0"), Not(HasSubstr(before)));
  EXPECT_THAT(kube_.Running(), ElementsAre("team/g-0", "team/g-2"));
  EXPECT_EQ(Told<JobSubmitted>().size(), 1U);
  EXPECT_THAT(Told<RunEnded>(), IsEmpty());
  // And one that a user deleted.
  kube_.DeletePod("team/g-0");
  Live(3);
  kube_.AddPod("g-3", told);
  Live(3);
  EXPECT_EQ(AnnotationOf("team/g-3", "gpu-ids"), "GPU-0");
  EXPECT_THAT(Told<JobWithdrawn>(), IsEmpty());
  for (const char* key : {"team/g-2", "team/g-3"}) kube_.EndPod(key, 0);
  Live(2);
  EXPECT_EQ(Last<RunEnded>().end.exit_code, 0);
}

TEST_F(KubeKnownTest, K5_AMemberThatEndedWellIsNotReplaced) {
  KubeTold told{.lasts = Seconds(500), .owner = "x"};
  told.annotations = {{"pod-group", "g"}, {"pod-group-size", "2"}};
  kube_.AddPod("g-0", told);
  kube_.AddPod("g-1", told);
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0", "GPU-1"}));
  Live(2);
  kube_.EndPod("team/g-1", 0);
  Live(1);
  kube_.AddPod("g-2", told);
  Live(3);
  EXPECT_EQ(AnnotationOf("team/g-2", "gpu-ids"), "");
  EXPECT_THAT(Last<JobSubmitted>().as.terms.waits_for, HasSubstr("1 of 2 pods"));
}

TEST_F(KubeKnownTest, K7_WhereTheDevicePluginGivesTheSameGpusOutAnAdminIsTold) {
  Advertise("n1", "2");
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "y"});
  Begin();
  Live(0.5);
  EXPECT_THAT(control_->remarks(),
              ElementsAre(AllOf(HasSubstr("node n1: NVIDIA's device plugin advertises 2 GPUs"),
                                HasSubstr("lists 2 of 2"), HasSubstr("kubectl taint node n1"))));
  EXPECT_EQ(Last<RunnerNote>().message, control_->remarks().front());
  control_->Start(RunOf(1, "n1", {"GPU-2"}));
  Live(1);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{1, 1})) << "no pod of the plugin is there";
  AddStock("n1");
  control_->Start(RunOf(2, "n1", {"GPU-3"}));
  Live(1);
  EXPECT_THAT(Last<StartRefused>().why,
              AllOf(HasSubstr("pod 'team/stock' has 1 GPU of node n1 by nvidia.com/gpu"),
                    HasSubstr("kubectl taint node n1")));
  EXPECT_THAT(Last<GpuTaken>().by, HasSubstr("pod 'team/stock' has 1 GPU"));
  EXPECT_THAT(Told<RunEnded>(), IsEmpty()) << "what runs there goes on";
  EXPECT_THAT(kube_.reasons, Contains("Shared a"));
  EXPECT_THAT(kube_.events, Contains(HasSubstr("perhaps its GPU is shared: pod 'team/stock'")));
  EXPECT_EQ(control_->remarks().size(), 1U) << "it is said once";
  // Its own GPU: no more than the annotation leaves over.
  List("n1", "V100 - GPU-3");
  Advertise("n1", "1");
  Live(1);
  control_->Start(RunOf(2, "n1", {"GPU-3"}, 2));
  Live(1);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{2, 2}));
  EXPECT_EQ(control_->remarks().size(), 1U);
}

TEST_F(KubeKnownTest, K7_PodsOfAPluginThatIsGoneCountToo) {
  List("n1", "V100 GPU-2 -");
  AddStock("n1", "2");
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  Begin();
  Live(0.5);
  EXPECT_THAT(Last<GpuTaken>().by, HasSubstr("pod 'team/stock' has 2 GPUs"));
}

TEST_F(KubeKnownTest, K7_TheTaintIsForPodsOfOthers) {
  const auto taint = [&](const char* effect) {
    const json one = {{"key", "sharewell.io/gpus"}, {"value", "true"}, {"effect", effect}};
    kube_.ChangeNode("n1", {{"spec", {{"taints", json::array({one})}}}});
  };
  Advertise("n1", "2");
  taint("NoSchedule");
  for (const char* pod : {"a", "b"}) kube_.AddPod(pod, {.lasts = Seconds(500), .owner = pod});
  Begin();
  Live(0.5);
  EXPECT_THAT(control_->remarks(), IsEmpty());
  control_->Start(RunOf(1, "n1", {"GPU-2"}));
  Live(1);
  EXPECT_EQ(Last<RunStarted>().id, (RunId{1, 1}));
  // It would end pods of ours too.
  taint("NoExecute");
  Live(0.5);
  control_->Start(RunOf(2, "n1", {"GPU-3"}));
  Live(1);
  EXPECT_THAT(Last<StartRefused>().why, HasSubstr("does not tolerate the taint"));
}

TEST_F(KubeKnownTest, K9_EventsSayWhyInNamesOfKubernetes) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  kube_.AddPod("b", {.lasts = Seconds(500), .owner = "y"});
  kube_.AddPod("c", {.lasts = Seconds(500), .owner = "z"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(2);
  control_->Start(RunOf(2, "n0", {"GPU-0"}));
  control_->notices().Put(3, "GPU 0 has job 1 of team");
  Live(2);
  EXPECT_THAT(kube_.events, Contains("shares GPU GPU-0 of node n0 with pod team/a"));
  EXPECT_THAT(kube_.events, Contains("shares GPU GPU-0 of node n0 with pod team/b"));
  EXPECT_EQ(ConditionOf("team/c", "PodScheduled"), "GPU GPU-0 of node n0 has pod team/a");
  control_->notices().PutLeaving(1, 0, "job 3 has a higher priority");
  control_->notices().PutLeaving(2, 1, "it slowed job 1 down");
  control_->notices().PutLeaving(2, 1, "it slowed job 1 down");
  Live(1);
  EXPECT_THAT(kube_.events, Contains("pod team/c has a higher priority"));
  EXPECT_THAT(kube_.reasons, Contains("Preempted a"));
  EXPECT_EQ(std::count(kube_.reasons.begin(), kube_.reasons.end(), "Evicted b"), 1);
  EXPECT_THAT(kube_.reasons, Contains("Scheduled b")) << "one does not replace another";
}

TEST_F(KubeKnownTest, K12_AllThatWasNotUnderstoodIsSaid) {
  kube_.AddPod("a", {.annotations = {{"gpus", "many"}, {"modle", "x"}}});
  Begin();
  Live(0.5);
  const std::string remark = Last<JobSubmitted>().as.remark;
  for (const char* part : {"sharewell.io/gpus", "sharewell.io/modle", "may-evict"}) {
    EXPECT_THAT(remark, HasSubstr(part));
  }
}

TEST_F(KubeKnownTest, K16_AContainerThatEndsAgainAndAgainIsTold) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(1);
  for (const char* wait : {"10s", "20s"}) {
    kube_.ChangePod(
        "team/a", {{"status",
                    {{"containerStatuses",
                      {{{"state",
                         {{"waiting",
                           {{"reason", "CrashLoopBackOff"},
                            {"message", std::string("back-off ") + wait + " restarting"}}}}}}}}}}});
    Live(1);
  }
  ASSERT_EQ(Told<RunNote>().size(), 1U) << "once";
  EXPECT_THAT(Last<RunNote>().message, HasSubstr("CrashLoopBackOff"));
  EXPECT_THAT(Last<RunNote>().message, HasSubstr("`kubectl logs a -n team --previous`"));
  EXPECT_THAT(kube_.reasons, Contains("CrashLoop a"));
}

TEST_F(KubeKnownTest, WhenAPodShouldStartIsShownUntilItRuns) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x", .annotations = {{"gpus", "1"}}});
  kube_.AddPod("b", {.owner = "y", .annotations = {{"gpus", "1"}}});
  Begin();
  Live(0.5);
  for (const std::int64_t job : {1, 2}) control_->notices().Put(job, "no GPU is free");
  control_->notices().PutStarts({{1, 1'900'000'000'000}});
  Live(1);
  EXPECT_EQ(AnnotationOf("team/a", "expected-start"), "2030-03-17T17:46:40Z");
  EXPECT_EQ(AnnotationOf("team/b", "expected-start"), "") << "nobody knows";
  EXPECT_EQ(Requests("/status"), 2) << "with the condition, in one write";
  control_->notices().PutStarts({{1, 1'900'000'005'000}});
  Live(30);
  EXPECT_EQ(Requests("/status"), 2) << "people would not tell it apart";
  control_->notices().PutStarts({{1, 2'000'000'000'000}, {2, 1'900'000'000'000}});
  Live(30);
  EXPECT_EQ(AnnotationOf("team/a", "expected-start"), "2033-05-18T03:33:20Z");
  EXPECT_EQ(AnnotationOf("team/b", "expected-start"), "2030-03-17T17:46:40Z");
  control_->notices().PutStarts({{1, 2'000'000'000'000}});
  Live(30);
  EXPECT_FALSE(
      kube_.pod("team/b")["metadata"]["annotations"].contains("sharewell.io/expected-start"))
      << "nobody knows any more";
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(3);
  EXPECT_EQ(kube_.pod("team/a")["spec"]["nodeName"], "n0");
  EXPECT_FALSE(
      kube_.pod("team/a")["metadata"]["annotations"].contains("sharewell.io/expected-start"));
}

TEST_F(KubeKnownTest, K11_WhoseLogIsAJobs) {
  kube_.AddPod("a", {.lasts = Seconds(500), .owner = "x"});
  kube_.AddPod("forged", {.annotations = {{"job", "1"}}, .scheduler = "default-scheduler"});
  Begin();
  Live(0.5);
  control_->Start(RunOf(1, "n0", {"GPU-0"}));
  Live(3);
  const auto pods = control_->notices().LogPods(1, "team");
  ASSERT_EQ(pods.size(), 1U);
  EXPECT_EQ(pods[0].name, "a");
  EXPECT_FALSE(pods[0].over);
  EXPECT_THAT(control_->notices().LogPods(1, "other"), IsEmpty()) << "of its user alone";
  EXPECT_THAT(control_->notices().LogPods(2, "team"), IsEmpty());
}

}  // namespace
}  // namespace sharewell::engine
