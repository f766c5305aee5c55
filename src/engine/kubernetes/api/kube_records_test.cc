#include "engine/kubernetes/api/kube_records.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "engine/kubernetes/control/kube_fit.h"

namespace sharewell::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(KubeQuantity, IsReadExactlyAndRoundedUp) {
  EXPECT_EQ(ParseQuantity("500m", 1000), 500);
  EXPECT_EQ(ParseQuantity("2", 1000), 2000);
  EXPECT_EQ(ParseQuantity("0.1", 1000), 100);
  EXPECT_EQ(ParseQuantity("1500u", 1000), 2) << "1.5 thousandths";
  EXPECT_EQ(ParseQuantity("1Gi", 1), 1LL << 30);
  EXPECT_EQ(ParseQuantity("1.5Ki", 1), 1536);
  EXPECT_EQ(ParseQuantity("1e3", 1), 1000);
  EXPECT_EQ(ParseQuantity("1E3", 1), 1000);
  EXPECT_EQ(ParseQuantity("2E", 1), 2'000'000'000'000'000'000LL);
  EXPECT_EQ(ParseQuantity("12e-1", 1), 2);
  EXPECT_EQ(ParseQuantity("+7k", 1), 7000);
  EXPECT_EQ(ParseQuantity("1n", 1), 1);
  EXPECT_EQ(ParseQuantity("0", 1), 0);
  EXPECT_EQ(ParseQuantity("9007199254740993", 1), 9007199254740993LL) << "no double could hold it";
}

TEST(KubeQuantity, WhatIsTooLargeIsTheLargest) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(ParseQuantity("8Ei", 1), kMost);
  EXPECT_EQ(ParseQuantity("1e99", 1), kMost);
  EXPECT_EQ(ParseQuantity("99999999999999999999999999999999999999999999999", 1), kMost);
  KubeAmounts sum{{"cpu", kMost}};
  AddAmounts({{"cpu", 5}}, sum);
  EXPECT_EQ(sum.at("cpu"), kMost);
}

TEST(KubeQuantity, AnythingElseIsNone) {
  for (const char* text : {"", "-1", "1x", "Gi", "1 Gi", ".", "1e", "e3", "1.2.3", "0x10", "1ki"}) {
    EXPECT_FALSE(ParseQuantity(text, 1).has_value()) << text;
  }
}

KubePod PodIn(const std::string& spec, const std::string& status = "{}",
              const std::string& meta = "") {
  const auto pod =
      ParseKubePod(R"({"metadata":{"name":"p","namespace":"team","uid":"u1",)" + meta +
                   R"("resourceVersion":"7","creationTimestamp":"2026-11-17T02:20:32Z"},)"
                   R"("spec":)" +
                   spec + R"(,"status":)" + status + "}");
  EXPECT_TRUE(pod.has_value()) << (pod ? "" : pod.error().message);
  return pod ? *pod : KubePod();
}

TEST(KubePodRecord, HasWhatADecisionNeeds) {
  const KubePod pod = PodIn(
      R"({"schedulerName":"sharewell","nodeName":"n1","priority":1000,"preemptionPolicy":"Never",
          "activeDeadlineSeconds":60,"nodeSelector":{"disk":"ssd"},
          "tolerations":[{"key":"gpu","operator":"Exists"}],
          "containers":[{"image":"train:1","command":["python"],"args":["a.py"]}]})",
      R"({"phase":"Failed","reason":"Evicted","containerStatuses":[
          {"state":{"terminated":{"exitCode":0}}},
          {"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}],
          "conditions":[{"type":"PodScheduled","status":"False","message":"waits"},
                        {"type":"sharewell.io/Job","status":"True","message":"17"}]})",
      R"("annotations":{"sharewell.io/gpus":"2","other.io/x":"y"},"deletionTimestamp":"x",
         "ownerReferences":[{"kind":"Set","uid":"s"},
                            {"kind":"Job","name":"j","uid":"o1","controller":true}],)");
  EXPECT_EQ(pod.Name(), "team/p");
  EXPECT_EQ(pod.created, 1'794'882'032'000);
  EXPECT_TRUE(pod.deleting);
  EXPECT_THAT(pod.annotations, ElementsAre(std::pair("gpus", "2")));
  EXPECT_EQ(pod.owner, (KubeOwner{"Job", "j", "o1"}));
  EXPECT_EQ(pod.scheduler, "sharewell");
  EXPECT_EQ(pod.node, "n1");
  EXPECT_EQ(pod.priority, 1000);
  EXPECT_FALSE(pod.preempts);
  EXPECT_EQ(pod.deadline, 60);
  EXPECT_THAT(pod.command, ElementsAre("train:1", "python", "a.py"));
  EXPECT_EQ(pod.phase, KubePhase::kFailed);
  EXPECT_EQ(pod.reason, "Evicted");
  EXPECT_EQ(pod.exit_code, 137) << "of the first that failed";
  EXPECT_TRUE(pod.out_of_memory);
  EXPECT_EQ(pod.told, "waits");
  EXPECT_EQ(pod.job, 17);
  EXPECT_THAT(pod.unjudged, IsEmpty());
}

TEST(KubePodRecord, KnowsWhetherItSeesItsGpusAloneAndWhetherItCrashes) {
  const auto pod = [](const std::string& env, const std::string& status = "{}") {
    return ParseKubePod(
               R"({"metadata":{"name":"a","namespace":"t","uid":"u"},"spec":{"containers":[{},)"
               R"({"env":)" +
               env + R"(}]},"status":)" + status + "}")
        .value();
  };
  EXPECT_TRUE(pod(R"([{"name":"NVIDIA_VISIBLE_DEVICES","valueFrom":{"fieldRef":)"
                  R"({"fieldPath":"metadata.annotations['sharewell.io/gpu-ids']"}}}])")
                  .reads_gpus);
  for (const char* other : {"[]", "7", R"([{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}])",
                            R"([{"name":"NVIDIA_VISIBLE_DEVICES","valueFrom":{"fieldRef":)"
                            R"({"fieldPath":"metadata.name"}}}])"}) {
    EXPECT_FALSE(pod(other).reads_gpus) << other;
  }
  const KubePod crashing = pod(
      "[]", R"({"phase":"Running","startTime":"2027-01-15T08:00:00Z","containerStatuses":)"
            R"([{"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}}}]})");
  EXPECT_TRUE(crashing.crash_loops);
  EXPECT_EQ(crashing.started, 1'800'000'000'000);
  EXPECT_FALSE(pod("[]").crash_loops);
  EXPECT_EQ(pod("[]").started, 0);
}

TEST(KubePodRecord, K5_OfAJobSetTheJobSetMakesItAgain) {
  const auto pod = [](const char* owner, const char* set) {
    return *ParseKubePod(fmt::format(
        R"({{"metadata":{{"name":"a","namespace":"team","uid":"u",
            "labels":{{"jobset.sigs.k8s.io/jobset-name":{1},"other":"x"}},
            "annotations":{{"scheduling.k8s.io/group-name":7}},
            "ownerReferences":[{{"kind":{0},"name":"j","uid":"o","controller":true}}]}}}})",
        owner, set));
  };
  EXPECT_EQ(pod(R"("Job")", R"("s")").owner, (KubeOwner{"JobSet", "s", "team/JobSet/s"}));
  EXPECT_EQ(pod(R"("Job")", R"("s")").marks.size(), 1U);
  EXPECT_EQ(pod(R"("Job")", "7").owner, (KubeOwner{"Job", "j", "o"}));
  EXPECT_EQ(pod(R"("Pod")", R"("s")").owner, (KubeOwner{"Pod", "j", "o"}));
}

TEST(KubePodRecord, CountsInitContainersAsTheyRun) {
  const KubePod pod = PodIn(R"({"containers":[
      {"resources":{"requests":{"cpu":"1","memory":"1Gi"}}},
      {"resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"4","example.com/fpga":"1"}}}],
      "initContainers":[
        {"resources":{"requests":{"cpu":"3"}}},
        {"restartPolicy":"Always","resources":{"requests":{"cpu":"250m"}}},
        {"resources":{"requests":{"memory":"2Gi","cpu":"1"}}}],
      "overhead":{"cpu":"100m"}})");
  EXPECT_EQ(pod.requests.at("cpu"), 3100) << "the first init container is the most, and overhead";
  EXPECT_EQ(pod.requests.at("memory"), 2LL << 30);
  EXPECT_EQ(pod.requests.at("example.com/fpga"), 1) << "what is limited is requested";
}

TEST(KubePodRecord, NamesTheFieldsThatNobodyCanJudge) {
  const KubePod pod = PodIn(R"({
      "affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}]},
                  "podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{}]}},
      "topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"}],
      "resourceClaims":[{"name":"gpu"}],"schedulingGates":[{"name":"quota"}],
      "volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"data"}},
                 {"name":"b","ephemeral":{}},{"name":"c","emptyDir":{}}],
      "containers":[{"ports":[{"containerPort":80},{"containerPort":81,"hostPort":81}],
                     "resources":{"requests":{"cpu":"a lot"}}}]})");
  EXPECT_THAT(pod.unjudged,
              ElementsAre("resources.requests.cpu", "spec.affinity.podAntiAffinity",
                          "spec.containers.ports.hostPort", "spec.resourceClaims",
                          "spec.topologySpreadConstraints", "spec.volumes.ephemeral"));
  EXPECT_THAT(pod.wishes, ElementsAre("spec.affinity.podAffinity"));
  EXPECT_THAT(pod.gates, ElementsAre("quota"));
  EXPECT_THAT(pod.claims, ElementsAre("data"));
}

TEST(KubePodRecord, WhatIsNoPodIsRefusedInWords) {
  for (const char* text : {"", "{", "[]", "{}", R"({"metadata":{"name":"a"}})"}) {
    const auto pod = ParseKubePod(text);
    ASSERT_FALSE(pod.has_value()) << text;
    EXPECT_THAT(pod.error().message, HasSubstr("the API server sent"));
  }
  EXPECT_TRUE(ParseKubePod(R"({"metadata":{"name":"a","namespace":"b","uid":"c","annotations":[]},)"
                           R"("spec":7,"status":{"conditions":{"type":1}}})")
                  .has_value())
      << "fields of another kind are as if they were not there";
}

TEST(KubeNodeRecord, HasWhatADecisionNeeds) {
  const auto node = ParseKubeNode(
      R"({"metadata":{"name":"n1","uid":"x","resourceVersion":"9","labels":{"zone":"a"},
          "annotations":{"sharewell.io/gpus":"H200 GPU-1","sharewell.io/claims":"u 1.1 GPU-1"}},
          "spec":{"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]},
          "status":{"allocatable":{"cpu":"7500m","memory":"32Gi"},
          "conditions":[{"type":"Ready","status":"Unknown","message":"Kubelet stopped"}]}})");
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ(node->version, "9");
  EXPECT_TRUE(node->cordoned);
  EXPECT_FALSE(node->ready);
  EXPECT_EQ(node->not_ready, "Kubelet stopped");
  EXPECT_EQ(node->allocatable.at("cpu"), 7500);
  EXPECT_EQ(node->gpus, "H200 GPU-1");
  EXPECT_EQ(node->claims, "u 1.1 GPU-1");
  EXPECT_THAT(node->taints, ElementsAre(KubeTaint{"k", "v", "NoSchedule"}));
}

class KubeFit : public ::testing::Test {
 protected:
  KubeFit() {
    node_.name = "n1";
    node_.labels = {{"disk", "ssd"}, {"gen", "5"}};
    node_.allocatable = {{"cpu", 4000}, {"memory", 1 << 20}};
  }
  bool Holds(const char* key, const char* op, std::vector<std::string> values, bool field = false) {
    return AnyTermHolds({{{key, op, std::move(values), field}}}, node_);
  }
  KubeNode node_;
  KubePod pod_;
};

TEST_F(KubeFit, NodeAffinityAsKubernetesHasIt) {
  EXPECT_TRUE(Holds("disk", "In", {"hdd", "ssd"}));
  EXPECT_FALSE(Holds("disk", "NotIn", {"ssd"}));
  EXPECT_TRUE(Holds("none", "NotIn", {"ssd"}));
  EXPECT_TRUE(Holds("disk", "Exists", {}));
  EXPECT_FALSE(Holds("disk", "DoesNotExist", {}));
  EXPECT_TRUE(Holds("gen", "Gt", {"4"}));
  EXPECT_FALSE(Holds("gen", "Lt", {"5"}));
  EXPECT_FALSE(Holds("disk", "Gt", {"4"})) << "no number";
  EXPECT_TRUE(Holds("metadata.name", "In", {"n1"}, true));
  EXPECT_FALSE(Holds("disk", "Somehow", {"ssd"})) << "of a newer Kubernetes";
  EXPECT_FALSE(AnyTermHolds({KubeTerm{}}, node_)) << "an empty term holds for none";
}

TEST_F(KubeFit, SelectorsTaintsAndResourcesSayWhyNot) {
  EXPECT_EQ(WhyNotOn(pod_, node_), "");
  pod_.selector = {{"disk", "hdd"}};
  EXPECT_THAT(WhyNotOn(pod_, node_), HasSubstr("nodeSelector wants 'disk=hdd'"));
  pod_.selector.clear();
  node_.taints = {{"gpu", "yes", "NoSchedule"}};
  EXPECT_THAT(WhyNotOn(pod_, node_), HasSubstr("taint 'gpu=yes:NoSchedule'"));
  pod_.tolerations = {{"gpu", "Equal", "no", ""}};
  EXPECT_NE(WhyNotOn(pod_, node_), "");
  pod_.tolerations = {{"gpu", "Equal", "yes", "NoExecute"}};
  EXPECT_NE(WhyNotOn(pod_, node_), "");
  pod_.tolerations = {{"gpu", "", "yes", "NoSchedule"}};
  EXPECT_EQ(WhyNotOn(pod_, node_), "") << "no operator is Equal";
  pod_.tolerations = {{"", "Exists", "", ""}};
  EXPECT_EQ(WhyNotOn(pod_, node_), "");
  pod_.requests = {{"cpu", 3000}, {"example.com/fpga", 1}};
  EXPECT_THAT(WhyNotOn(pod_, node_), HasSubstr("example.com/fpga, and the node has none"));
  EXPECT_THAT(WhyNoRoom({{"cpu", 3000}}, {{"cpu", 2000}}, node_),
              HasSubstr("2 CPUs left, and it asks for 3 CPUs"));
  EXPECT_EQ(WhyNoRoom({{"cpu", 2000}}, {{"cpu", 2000}}, node_), "");
}

}  // namespace
}  // namespace sharewell::engine
