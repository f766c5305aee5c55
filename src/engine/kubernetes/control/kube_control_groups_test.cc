// Groups of pods as their owners make them: Jobs, JobSets, PyTorchJobs, PodGroups of coscheduling
// and of Volcano; and what happens to the others where one pod fails.
#include <gmock/gmock.h>

#include "testing/kube_control_fixture.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::KubeControlTest;
using fixtures::KubeTold;
using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class KubeGroupsTest : public KubeControlTest {
 protected:
  KubeGroupsTest() { kube_.remaking = Seconds(0.25); }

  static KubeTold OfJob(const char* restart = nullptr) {
    KubeTold told{.lasts = Seconds(500), .owner = "x"};
    told.annotations = {{"pod-group", "g"}, {"pod-group-size", "2"}};
    if (restart != nullptr) told.annotations["restart"] = restart;
    return told;
  }
  // As the training operator makes them, with its gang scheduling by coscheduling.
  static KubeTold OfPyTorchJob(const char* replica) {
    KubeTold told{.lasts = Seconds(500)};
    told.meta = {{"labels",
                  {{"training.kubeflow.org/job-name", "bert"},
                   {"training.kubeflow.org/operator-name", "pytorchjob-controller"},
                   {"training.kubeflow.org/replica-type", replica},
                   {"training.kubeflow.org/replica-index", "0"},
                   {"scheduling.x-k8s.io/pod-group", "bert"}}},
                 {"ownerReferences",
                  {{{"apiVersion", "kubeflow.org/v1"},
                    {"kind", "PyTorchJob"},
                    {"name", "bert"},
                    {"uid", "of-bert"},
                    {"controller", true}}}}};
    return told;
  }
  // Of its Job `index`, which the JobSet has made `attempt` times before.
  static KubeTold OfJobSet(int index, int attempt) {
    KubeTold told{.lasts = Seconds(500)};
    told.annotations = {{"pod-group", "set"}, {"pod-group-size", "2"}};
    const std::string job = "set-worker-" + std::to_string(index);
    told.meta = {{"labels",
                  {{"jobset.sigs.k8s.io/jobset-name", "set"},
                   {"jobset.sigs.k8s.io/replicatedjob-name", "worker"},
                   {"jobset.sigs.k8s.io/restart-attempt", std::to_string(attempt)},
                   {"batch.kubernetes.io/job-name", job}}},
                 {"ownerReferences",
                  {{{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"name", job},
                    {"uid", job + "/" + std::to_string(attempt)},
                    {"controller", true}}}}};
    return told;
  }
  static constexpr const char* kBert =
      "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team/podgroups/bert";
  // Two pods of job 1, on both GPUs of n0.
  void BeginTwo(const char* restart) {
    kube_.AddPod("g-0", OfJob(restart));
    kube_.AddPod("g-1", OfJob(restart));
    Begin();
    Live(0.5);
    control_->Start(RunOf(1, "n0", {"GPU-0", "GPU-1"}));
    Live(2);
    ASSERT_THAT(kube_.Running(), ElementsAre("team/g-0", "team/g-1"));
  }
};

TEST_F(KubeGroupsTest, K5_APyTorchJobWithAPodGroupIsOneJob) {
  kube_.pod_groups[kBert] = {{"spec", {{"minMember", 2}}}};
  kube_.AddPod("bert-master-0", OfPyTorchJob("master"));
  Begin();
  Live(1);
  EXPECT_THAT(Last<JobSubmitted>().as.terms.waits_for, HasSubstr("1 of 2 pods are there"));
  EXPECT_EQ(Last<JobSubmitted>().as.asked.name, "bert");
  kube_.AddPod("bert-worker-0", OfPyTorchJob("worker"));
  Live(1);
  EXPECT_THAT(Told<JobSubmitted>(), SizeIs(1));
  EXPECT_EQ(Last<TermsChanged>().terms.waits_for, "");
  control_->Start(RunOf(1, "n0", {"GPU-0", "GPU-1"}));
  Live(2);
  EXPECT_THAT(kube_.Running(), ElementsAre("team/bert-master-0", "team/bert-worker-0"));
  // One fails, and the operator makes it again under the same name.
  kube_.EndPod("team/bert-worker-0", 1);
  kube_.DeletePod("team/bert-worker-0");
  kube_.AddPod("bert-worker-0", OfPyTorchJob("worker"));
  Live(4);
  EXPECT_EQ(AnnotationOf("team/bert-worker-0", "gpu-ids"), "GPU-1");
  EXPECT_THAT(kube_.Running(), SizeIs(2));
  EXPECT_THAT(Told<JobSubmitted>(), SizeIs(1));
  // Another server knows the size by the pods that run.
  Begin();
  Live(1);
  control_->Stop({1, 1});
  Live(4);
  kube_.AddPod("bert-master-0", OfPyTorchJob("master"));
  Live(2);
  EXPECT_THAT(Last<TermsChanged>().terms.waits_for, HasSubstr("1 of 2 pods are there"));
}

TEST_F(KubeGroupsTest, K5_AGroupOfUnknownSizeIsNotStarted) {
  kube_.AddPod("bert-master-0", OfPyTorchJob("master"));
  Begin();
  Live(1);
  EXPECT_THAT(Last<JobSubmitted>().as.terms.waits_for,
              HasSubstr("nothing says how many pods its pod group 'bert' has: its PodGroup cannot "
                        "be read (the server could not find the resource); make them with the "
                        "annotation sharewell.io/pod-group-size"));
  EXPECT_EQ(Requests("/podgroups/"), 1);
  kube_.pod_groups[kBert] = {{"spec", {{"minMember", 0}}}};
  kube_.AddPod("bert-worker-0", OfPyTorchJob("worker"));
  Live(1);
  EXPECT_THAT(Last<JobSubmitted>().as.terms.waits_for, HasSubstr("is 0, and Sharewell takes 1"));
  // Where no answer comes it is asked again.
  kube_.pod_groups[kBert] = {{"spec", {{"minMember", 3}}}};
  kube_.refuse["/bert"] = 503;
  kube_.AddPod("bert-worker-1", OfPyTorchJob("worker"));
  Live(4);
  EXPECT_THAT(Told<JobSubmitted>(), SizeIs(2));
  kube_.refuse.clear();
  Live(4);
  EXPECT_THAT(Last<JobSubmitted>().as.terms.waits_for, HasSubstr("1 of 3 pods"));
}

TEST_F(KubeGroupsTest, K5_AGroupOfVolcanoSaysItsSizeItself) {
  KubeTold told{.lasts = Seconds(500), .owner = "x"};
  told.meta = {
      {"annotations",
       {{"scheduling.k8s.io/group-name", "v"}, {"scheduling.volcano.sh/group-min-member", "2"}}}};
  kube_.AddPod("v-0", told);
  kube_.AddPod("v-1", told);
  Begin();
  Live(1);
  EXPECT_EQ(Last<JobSubmitted>().as.asked.gpus, 2);
  EXPECT_EQ(Last<JobSubmitted>().as.terms.waits_for, "");
  EXPECT_EQ(Requests("/podgroups/"), 0);
}

TEST_F(KubeGroupsTest, K5_AJobSetThatMakesItsJobsAnewGoesOn) {
  kube_.AddPod("set-worker-0-0-a", OfJobSet(0, 0));
  kube_.AddPod("set-worker-1-0-a", OfJobSet(1, 0));
  Begin();
  Live(0.5);
  EXPECT_THAT(Told<JobSubmitted>(), SizeIs(1));
  control_->Start(RunOf(1, "n0", {"GPU-0", "GPU-1"}));
  Live(2);
  kube_.leaving = Seconds(3);
  kube_.EndPod("team/set-worker-1-0-a", 1);
  kube_.DeletePod("team/set-worker-0-0-a");
  kube_.AddPod("set-worker-1-0-b", OfJobSet(1, 1));
  kube_.AddPod("set-worker-0-0-b", OfJobSet(0, 1));  // while the one before is on its way out
  Live(8);
  EXPECT_THAT(kube_.Running(), ElementsAre("team/set-worker-0-0-b", "team/set-worker-1-0-b"));
  EXPECT_THAT(Told<JobSubmitted>(), SizeIs(1));
  EXPECT_THAT(Told<RunEnded>(), IsEmpty());
  control_->Stop({1, 1});
  Live(8);
  EXPECT_THAT(Last<TermsChanged>().terms.waits_for, HasSubstr("JobSet 'set'"));
}

TEST_F(KubeGroupsTest, K5_RestartAllMakesTheOthersAgainToo) {
  BeginTwo("all");
  kube_.EndPod("team/g-1", 1);
  kube_.AddPod("g-2", OfJob("all"));  // the Job's controller is quick
  Live(5);
  EXPECT_EQ(Last<RunEnded>().id, (RunId{1, 1}));
  EXPECT_TRUE(Last<RunEnded>().end.stopped) << "it goes back to the queue";
  EXPECT_THAT(kube_.reasons, Contains("Evicted g-0"));
  EXPECT_THAT(Told<JobSubmitted>(), SizeIs(1));
  EXPECT_EQ(Last<TermsChanged>().terms.waits_for, "") << "both were made again";
  control_->Start(RunOf(1, "n1", {"GPU-2", "GPU-3"}, 2));
  Live(2);
  EXPECT_THAT(kube_.Running(), SizeIs(2));
  // Where none is left it has failed.
  for (const std::string& key : kube_.Running()) kube_.EndPod(key, 3);
  Live(3);
  EXPECT_EQ(Last<RunEnded>().end.exit_code, 3);
  EXPECT_FALSE(Last<RunEnded>().end.stopped);
}

TEST_F(KubeGroupsTest, K5_RestartFailGivesNobodyThePlace) {
  BeginTwo("fail");
  kube_.EndPod("team/g-1", 1);
  Live(1);
  kube_.AddPod("g-2", OfJob("fail"));
  Live(3);
  EXPECT_THAT(kube_.Running(), ElementsAre("team/g-0"));
  EXPECT_THAT(Last<JobSubmitted>().as.terms.waits_for, HasSubstr("has not the place of one that"));
  kube_.EndPod("team/g-0", 0);
  Live(2);
  EXPECT_EQ(Last<RunEnded>().end.exit_code, 1);
  EXPECT_FALSE(Last<RunEnded>().end.stopped);
}

TEST_F(KubeGroupsTest, K5_AReplacementMayComeBeforeTheDeletedPodIsGone) {
  BeginTwo("one");
  kube_.leaving = Seconds(3);
  kube_.DeletePod("team/g-1");
  kube_.AddPod("g-2", OfJob("one"));
  Live(1);
  EXPECT_EQ(AnnotationOf("team/g-2", "gpu-ids"), "");
  Live(5);
  EXPECT_EQ(AnnotationOf("team/g-2", "gpu-ids"), "GPU-1");
  EXPECT_THAT(Told<JobSubmitted>(), SizeIs(1));
  EXPECT_THAT(Told<JobWithdrawn>(), IsEmpty());
}

TEST_F(KubeGroupsTest, K5_AReplacementThatIsNotBoundYetWaitsWithTheOthers) {
  BeginTwo("one");
  kube_.refuse["/binding"] = 500;
  kube_.EndPod("team/g-1", 1);
  kube_.AddPod("g-2", OfJob("one"));
  Live(2);
  control_->Stop({1, 1});
  Live(25);
  EXPECT_TRUE(Last<RunEnded>().end.stopped);
  EXPECT_EQ(Last<TermsChanged>().terms.waits_for, "");
  EXPECT_THAT(Told<JobSubmitted>(), SizeIs(1));
}

TEST(KubePodGroupSize, IsRefusedInWords) {
  EXPECT_EQ(*ParsePodGroupSize(R"({"spec":{"minMember":7}})"), 7);
  for (const char* wrong : {"", "{", "[]", "{}", R"({"spec":{"minMember":"7"}})",
                            R"({"spec":{"minMember":-1}})", R"({"spec":{"minMember":1001}})"}) {
    const auto size = ParsePodGroupSize(wrong);
    ASSERT_FALSE(size.has_value()) << wrong;
    EXPECT_THAT(size.error().message, HasSubstr("PodGroup")) << wrong;
  }
}

}  // namespace
}  // namespace sharewell::engine
