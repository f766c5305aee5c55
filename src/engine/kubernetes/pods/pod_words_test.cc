#include "engine/kubernetes/pods/pod_words.h"

#include <gmock/gmock.h>

#include "engine/kubernetes/api/kube_writes.h"
#include "engine/kubernetes/control/kube_claims.h"

namespace sharewell::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

KubePod PodWith(std::map<std::string, std::string> annotations) {
  KubePod pod;
  pod.uid = "u1";
  pod.name = "train";
  pod.name_space = "team";
  pod.version = "7";
  pod.owner = {"Job", "train", "o1"};
  pod.command = {"image"};
  pod.annotations = std::move(annotations);
  return pod;
}

TEST(PodWords, AreWhatTheUserAsksFor) {
  const PodWords words = ParsePodWords(PodWith({{"gpus", "2"},
                                                {"model", "resnet50.onnx"},
                                                {"batch", "64"},
                                                {"precision", "bf16"},
                                                {"profile", "resnet50"},
                                                {"gpu-memory", "12Gi"},
                                                {"max-slowdown", "1.2"},
                                                {"gpu-model", "V100"},
                                                {"pod-group", "g"},
                                                {"pod-group-size", "4"}}));
  EXPECT_EQ(words.problem, "");
  EXPECT_EQ(words.refusal, "");
  EXPECT_EQ(words.gpus, 2);
  EXPECT_EQ(words.model, "resnet50.onnx");
  EXPECT_EQ(words.batch, 64);
  EXPECT_EQ(words.precision, "bf16");
  EXPECT_EQ(words.profile, "resnet50");
  EXPECT_EQ(words.gpu_memory, core::GiB(12));
  EXPECT_EQ(words.max_slowdown, 1.2);
  EXPECT_THAT(words.gpu_models, ElementsAre("V100"));
  EXPECT_EQ(words.group, "g");
  EXPECT_EQ(words.group_size, 4);
}

TEST(PodWords, WhatIsNotUnderstoodIsSaid) {
  EXPECT_THAT(ParsePodWords(PodWith({{"gpus", "many"}})).problem, HasSubstr("sharewell.io/gpus"));
  EXPECT_EQ(ParsePodWords(PodWith({{"gpus", "many"}})).gpus, 1);
  EXPECT_THAT(ParsePodWords(PodWith({{"modle", "x"}})).problem,
              HasSubstr("'sharewell.io/modle' is not known"));
  EXPECT_THAT(ParsePodWords(PodWith({{"exclusive", "yes"}})).problem, HasSubstr("\"true\""));
  EXPECT_THAT(ParsePodWords(PodWith({{"gpu-memory", "lots"}})).problem, HasSubstr("12Gi"));
  const PodWords odd = ParsePodWords(PodWith({{"precision", "half"}}));
  EXPECT_EQ(odd.precision, "");
  EXPECT_EQ(odd.problem, "sharewell.io/precision is 'half'; write one of fp32, tf32, bf16, fp16");
}

TEST(PodWords, AGroupIsNamedAsOthersDo) {
  KubePod pod = PodWith({});
  pod.marks = {{"scheduling.k8s.io/group-name", "v"},
               {"scheduling.volcano.sh/group-min-member", "3"}};
  EXPECT_EQ(ParsePodWords(pod).group, "v");
  EXPECT_EQ(ParsePodWords(pod).group_size, 3);
  EXPECT_EQ(ParsePodWords(pod).unsized, PodGroupKind::kNone);
  pod.marks["scheduling.volcano.sh/group-min-member"] = "some";
  EXPECT_THAT(ParsePodWords(pod).problem, HasSubstr("scheduling.volcano.sh/group-min-member"));
  EXPECT_EQ(ParsePodWords(pod).unsized, PodGroupKind::kVolcano) << "its PodGroup may know";
  pod.marks = {{"scheduling.x-k8s.io/pod-group", "c"}};
  EXPECT_EQ(ParsePodWords(pod).unsized, PodGroupKind::kCoscheduling);
  EXPECT_EQ(ParsePodWords(pod).refusal, "") << "nobody has asked yet";
  pod.no_group_size = "not found";
  EXPECT_THAT(ParsePodWords(pod).refusal, HasSubstr("group 'c' has: not found; make them with"));
  pod.group_size = 4;
  EXPECT_EQ(ParsePodWords(pod).group_size, 4);
  pod.annotations = {{"pod-group-size", "2"}};
  EXPECT_EQ(ParsePodWords(pod).group_size, 2) << "ours wins";
  pod.annotations["pod-group"] = "g";
  EXPECT_EQ(ParsePodWords(pod).group, "g");
  pod.annotations.clear();
  pod.marks["scheduling.x-k8s.io/pod-group"] = "../x";
  EXPECT_EQ(ParsePodWords(pod).group, "");
  EXPECT_THAT(ParsePodWords(pod).problem, HasSubstr("scheduling.x-k8s.io/pod-group is '../x'"));
}

TEST(PodWords, RestartIsOneOfThreeWords) {
  EXPECT_EQ(ParsePodWords(PodWith({})).restart, GroupRestart::kOne);
  EXPECT_EQ(ParsePodWords(PodWith({{"restart", "all"}})).restart, GroupRestart::kAll);
  EXPECT_EQ(ParsePodWords(PodWith({{"restart", "fail"}})).restart, GroupRestart::kFail);
  for (const char* wrong : {"", "All", "always"}) {
    const PodWords words = ParsePodWords(PodWith({{"restart", wrong}}));
    EXPECT_EQ(words.restart, GroupRestart::kOne);
    EXPECT_THAT(words.problem, HasSubstr("write all, one or fail"));
  }
}

TEST(PodWords, AModelIsANameAndNoPath) {
  for (const char* path : {"/etc/shadow", "../key", ".hidden", "a/b", "a b", "x\n"}) {
    const PodWords words = ParsePodWords(PodWith({{"model", path}}));
    EXPECT_EQ(words.model, "") << path;
    EXPECT_NE(words.problem, "");
  }
}

TEST(PodWords, WhatTheBindingWritesNobodyElseMay) {
  for (const char* name :
       {"gpu-ids", "sm-share", "memory-limit", "client-priority", "job", "attempt"}) {
    EXPECT_THAT(ParsePodWords(PodWith({{name, "1"}})).refusal, HasSubstr(name));
  }
}

TEST(PodWords, WhatCannotBeJudgedIsRefusedByItsName) {
  KubePod pod = PodWith({});
  pod.unjudged = {"spec.affinity.podAffinity"};
  EXPECT_THAT(ParsePodWords(pod).refusal, HasSubstr("spec.affinity.podAffinity"));
  pod.unjudged.clear();
  pod.requests = {{"nvidia.com/gpu", 1}};
  EXPECT_THAT(ParsePodWords(pod).refusal, HasSubstr("nvidia.com/gpu"));
}

TEST(PodSubmission, IsTheNamespaces) {
  KubePod pod = PodWith({{"gpu-memory", "1Gi"}});
  pod.requests = {{"cpu", 2500}, {"memory", 1LL << 30}};
  pod.priority = 1000;
  pod.created = 5000;
  const ForeignJob job = SubmissionOf(pod, ParsePodWords(pod), 3);
  EXPECT_EQ(job.user.name, "team");
  EXPECT_FALSE(job.user.admin);
  EXPECT_EQ(job.submitted, 5000);
  EXPECT_EQ(job.asked.gpus, 3);
  EXPECT_EQ(job.asked.cores, 7.5);
  EXPECT_EQ(job.asked.memory, core::GiB(3));
  EXPECT_EQ(job.asked.gpu_memory, core::GiB(1)) << "of each GPU";
  EXPECT_EQ(job.asked.priority, 0) << "nobody gets what admins alone may ask for";
  EXPECT_EQ(job.terms.priority, 1000);
  EXPECT_FALSE(job.asked.exclusive);
}

TEST(PodSubmission, APodThatNobodyMakesAgainSharesOnlyWhereItsUserAllowsIt) {
  KubePod pod = PodWith({});
  pod.owner = {};
  const ForeignJob alone = SubmissionOf(pod, ParsePodWords(pod), 1);
  EXPECT_TRUE(alone.asked.exclusive);
  EXPECT_THAT(alone.remark, HasSubstr("sharewell.io/may-evict"));
  EXPECT_TRUE(alone.terms.keeps_place) << "nor is it preempted";
  pod.annotations["may-evict"] = "true";
  EXPECT_FALSE(SubmissionOf(pod, ParsePodWords(pod), 1).asked.exclusive);
  EXPECT_FALSE(SubmissionOf(pod, ParsePodWords(pod), 1).terms.keeps_place);
}

TEST(PodSubmission, IsNamedAsWhatItsUserMade) {
  KubePod pod = PodWith({{"restart", "all"}});
  EXPECT_EQ(SubmissionOf(pod, ParsePodWords(pod), 1).asked.name, "train");
  EXPECT_EQ(SubmissionOf(pod, ParsePodWords(pod), 1).remark, "");
  pod.name = "bert-worker-0";
  pod.owner = {"PyTorchJob", "bert", "o1"};
  pod.marks = {{"training.kubeflow.org/job-name", "bert"}};
  EXPECT_EQ(SubmissionOf(pod, ParsePodWords(pod), 1).asked.name, "bert");
  pod.owner = {};
  EXPECT_THAT(SubmissionOf(pod, ParsePodWords(pod), 1).remark, HasSubstr("restart is \"all\""));
}

TEST(PodSubmission, ItPreemptsUnlessItsClassSaysNever) {
  KubePod pod = PodWith({});
  EXPECT_TRUE(SubmissionOf(pod, ParsePodWords(pod), 1).terms.preempts);
  pod.preempts = false;
  EXPECT_FALSE(SubmissionOf(pod, ParsePodWords(pod), 1).terms.preempts);
}

TEST(KubeClaimText, IsReadAsItIsWritten) {
  KubeClaims claims;
  claims["u1"] = {17, 2, {"GPU-1", "GPU-2"}, 40, 14000, 4.5, true, true};
  claims["u2"] = {18, 1, {}, 100, std::nullopt, 1, false, false};
  const std::string text = FormatKubeClaims(claims);
  EXPECT_EQ(text,
            "u1 17.2 GPU-1+GPU-2 sm:40 mem:14000 cores:4.5 shares limited;u2 18.1 none cores:1");
  const auto read = ParseKubeClaims(text);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, claims);
  claims["u1"].guest = true;
  EXPECT_EQ(*ParseKubeClaims(FormatKubeClaims(claims)), claims);
  EXPECT_TRUE(ParseKubeClaims("")->empty());
  for (const char* wrong : {"u1", "u1 17 GPU-1", "u1 0.1 GPU-1", "u1 1.1 GPU-1 what",
                            "u1 1.1 GPU-1 sm:0", "u1 1.1 +", "u1 1.1 a;u1 2.1 b", "u=1 1.1 a"}) {
    EXPECT_FALSE(ParseKubeClaims(wrong).has_value()) << wrong;
  }
}

TEST(KubeClaimText, AGpuIsNotOverCommitted) {
  KubeClaims others;
  others["u1"] = {1, 1, {"GPU-1"}, 50, 20000, 0, true, false};
  KubeClaim mine{2, 1, {"GPU-1"}, 50, 10000, 0, true, false};
  EXPECT_EQ(WhyNotClaimed(others, mine, core::GiB(32)), "");
  mine.memory_mib = 20000;
  EXPECT_THAT(WhyNotClaimed(others, mine, core::GiB(32)), HasSubstr("20000 MiB of its 32768 MiB"));
  mine.shares = false;
  EXPECT_THAT(WhyNotClaimed(others, mine, core::GiB(80)), HasSubstr("claimed by job 1"));
  mine.gpus = {"GPU-2"};
  EXPECT_EQ(WhyNotClaimed(others, mine, core::GiB(32)), "");
}

TEST(KubeGpusText, IsAModelAndUuids) {
  const auto gpus = ParseKubeGpus("H200 GPU-1 GPU-2");
  ASSERT_TRUE(gpus.has_value());
  EXPECT_EQ(gpus->model, "H200");
  EXPECT_THAT(gpus->uuids, ElementsAre("GPU-1", "GPU-2"));
  EXPECT_THAT(gpus->numbers, ElementsAre(0, 1));
  const auto some = ParseKubeGpus("H200 - GPU-1 - - GPU-2");
  EXPECT_THAT(some->uuids, ElementsAre("GPU-1", "GPU-2"));
  EXPECT_THAT(some->numbers, ElementsAre(1, 4)) << "those between are not for pods";
  const auto near = ParseKubeGpus("H200 GPU-1 - GPU-2 GPU-3 near:0,2|1,3");
  ASSERT_TRUE(near) << near.error().message;
  EXPECT_EQ(near->islands.Text(), "0,1|2");
  EXPECT_THAT(ParseKubeGpus("H200 GPU-1 near:0,7").error().message, HasSubstr("from 0 to 0"));
  for (const char* wrong : {"", "H200", "H200 -", "- GPU-1", "H200 GPU-1 GPU-1", "H200 GPU;1",
                            "RTX 4090 GPU-1", "H200 MIG-1"}) {
    EXPECT_THAT(ParseKubeGpus(wrong).error().message, HasSubstr("nvidia-smi -L")) << wrong;
  }
}

TEST(KubeWrites, ABindingCarriesItsAnnotationsAndPreconditions) {
  const KubePod pod = PodWith({});
  const KubeRequest request =
      BindRequest(pod, "n1", {17, 2, {"GPU-1", "GPU-2"}, 40, 14000, 4, true, true}, "{known}");
  EXPECT_EQ(request.path, "/api/v1/namespaces/team/pods/train/binding");
  EXPECT_THAT(request.body, HasSubstr(R"("uid":"u1","resourceVersion":"7")"));
  EXPECT_THAT(request.body, HasSubstr(R"("sharewell.io/gpu-ids":"GPU-1,GPU-2")"));
  EXPECT_THAT(request.body, HasSubstr(R"("sharewell.io/sm-share":"40")"));
  EXPECT_THAT(request.body, HasSubstr(R"("sharewell.io/memory-limit":"0=14000M,1=14000M")"));
  EXPECT_THAT(request.body, HasSubstr(R"("sharewell.io/job":"17")"));
  EXPECT_THAT(BindRequest(pod, "n1", {17, 2, {"GPU-1"}, 40, 14000, 4, true, false}, "").body,
              HasSubstr(R"("sharewell.io/memory-limit":"")"))
      << "what is only expected is no limit";
  EXPECT_THAT(request.body, HasSubstr(R"("sharewell.io/client-priority":"0")"));
  KubeClaim guest{17, 2, {"GPU-1"}, 40, 14000, 4, true, true};
  guest.guest = true;
  EXPECT_THAT(BindRequest(pod, "n1", guest, "").body,
              HasSubstr(R"("sharewell.io/client-priority":"1")"));
}

TEST(KubeWrites, ARightThatIsMissingIsNamed) {
  const KubePod pod = PodWith({});
  EXPECT_THAT(
      RefusedInWords(BindRequest(pod, "n1", {}, ""), {403, R"({"message":"forbidden"})", {}}),
      HasSubstr("create pods/binding: forbidden"));
  EXPECT_THAT(RefusedInWords(ClaimRequest({}, {}), {403, "", {}}), HasSubstr("patch nodes"));
  EXPECT_THAT(RefusedInWords(EvictRequest(pod, true), {403, "", {}}),
              HasSubstr("create pods/eviction"));
  EXPECT_THAT(RefusedInWords(EvictRequest(pod, true), {500, "", {}}), Not(HasSubstr("RBAC")));
}

}  // namespace
}  // namespace sharewell::engine
