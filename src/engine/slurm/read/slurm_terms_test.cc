// Where and when Slurm would start a job.
#include "engine/slurm/read/slurm_terms.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr core::UnixMillis kHour = 3600 * 1000, kNow = 100 * kHour;

SlurmFacts Facts() {
  SlurmFacts facts;
  facts.now = kNow;
  facts.is_there = [](std::int64_t id, std::optional<std::int64_t>, bool) { return id == 7; };
  facts.nodes = {{"n1", "V100", 2, false, {"g0", "g1"}},
                 {"n2", "V100", 2, false, {"g0", "g1"}},
                 {"n3", "P100", 4, false, {"g0", "g1", "g2", "g3"}}};
  facts.nodes[0].features = {"V100", "nvlink"};
  facts.nodes[1].features = {"V100", "rack2"};
  facts.nodes[2].features = {"P100", "rack2"};
  facts.reservations["theirs"] = {"theirs", {"n1", "n3"}, kNow - kHour, kNow + kHour};
  facts.reservations["later"] = {"later", {"n2"}, kNow + 9000 * kHour, std::nullopt};
  return facts;
}

StartTerms Terms(const SlurmJob& job, int gpus, const std::vector<std::string>& models = {},
                 const std::string& kept = "") {
  JobNote note;
  note.ask.gpus = gpus;
  return TermsOf(job, note, models, kept, Facts());
}

StartTerms TermsAt(const SlurmJob& job, int gpus, const std::vector<std::string>& asked,
                   const SlurmFacts& facts, const std::vector<std::string>& models = {}) {
  JobNote note;
  note.ask.gpus = gpus;
  note.ask.nodes = asked;
  return TermsOf(job, note, models, "", facts);
}

// As Facts, without reservations.
SlurmFacts FreeFacts() {
  SlurmFacts facts = Facts();
  facts.reservations.clear();
  return facts;
}

SlurmJob OnNodes(int least, int most = 0) {
  SlurmJob job;
  job.nodes_wanted = least;
  job.nodes_most = most;
  return job;
}

TEST(SlurmTerms, APlainJobHasNone) { EXPECT_EQ(Terms(SlurmJob(), 1), StartTerms()); }

TEST(SlurmTerms, GpusAreAskedForNodeByNode) {
  EXPECT_EQ(Terms(OnNodes(2, 2), 2).gpus_a_node, 1) << "-N2 --gres=gpu:1";
  EXPECT_EQ(Terms(OnNodes(2, 2), 4).gpus_a_node, 2);
  EXPECT_EQ(Terms(OnNodes(1, 1), 2).gpus_a_node, 2);
  EXPECT_EQ(Terms(OnNodes(1), 4).gpus_a_node, 4) << "on n3";
  EXPECT_EQ(Terms(OnNodes(1), 4, {"V100"}).gpus_a_node, 2)
      << "--gpus=4 left the number of nodes open";
}

TEST(SlurmTerms, WhatNoNodesCouldGiveIsSaid) {
  EXPECT_THAT(Terms(OnNodes(2, 2), 3).waits_for, HasSubstr("--gpus-per-node"));
  EXPECT_THAT(
      Terms(OnNodes(1, 1), 4, {"V100"}).waits_for,
      HasSubstr("4 GPUs on each of 1 node, and the nodes that it may run on have at most 2"));
  EXPECT_THAT(Terms(OnNodes(2, 2), 8).waits_for, HasSubstr("--nodes"));
  EXPECT_THAT(Terms(OnNodes(3, 3), 3).waits_for,
              HasSubstr("no GPU model has 1 GPU on each of 3 nodes"));
}

TEST(SlurmTerms, ABeginTimeAndADependencyAreWaitedFor) {
  SlurmJob later;
  later.eligible = kNow + kHour;
  EXPECT_EQ(Terms(later, 1).waits_for,
            "waiting for Slurm: it begins at " + SlurmTimeInWords(kNow + kHour));
  later.eligible = kNow;
  EXPECT_EQ(Terms(later, 1).waits_for, "");
  SlurmJob after;
  after.dependency = "afterok:7(unfulfilled)";
  EXPECT_THAT(Terms(after, 1).waits_for, HasSubstr("afterok:7"));
  after.dependency = "afterok:8";
  EXPECT_EQ(Terms(after, 1).waits_for, "");
  EXPECT_EQ(SlurmTimeInWords(1794848739000), "2026-11-16 17:05 UTC");
}

TEST(SlurmTerms, AReservationsJobsRunOnItsNodes) {
  SlurmJob job;
  job.reservation = "theirs";
  EXPECT_THAT(Terms(job, 1).nodes, ElementsAre("n1", "n3"));
  EXPECT_EQ(Terms(job, 1).waits_for, "");
  job.reservation = "later";
  EXPECT_THAT(Terms(job, 1).waits_for, HasSubstr("begins at"));
  job.reservation = "gone";
  EXPECT_THAT(Terms(job, 1).waits_for, HasSubstr("is not there"));
  job.reservation = "later,theirs";
  EXPECT_THAT(Terms(job, 1).nodes, ElementsAre("n1", "n3"));
  EXPECT_THAT(Terms(SlurmJob(), 1).nodes, IsEmpty());
}

TEST(SlurmTerms, ANodeListIsKept) {
  SlurmJob one, two = OnNodes(2);
  EXPECT_THAT(TermsAt(one, 1, {"n2"}, FreeFacts()).nodes, ElementsAre("n2"));
  EXPECT_EQ(TermsAt(one, 1, {"n2"}, FreeFacts()).waits_for, "");
  EXPECT_THAT(TermsAt(two, 2, {"n1", "n2"}, FreeFacts()).nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(TermsAt(two, 2, {"n1", "n2"}, FreeFacts()).waits_for, "");
  EXPECT_THAT(TermsAt(two, 2, {"n1", "n3"}, FreeFacts()).waits_for, HasSubstr("V100 and of P100"));
  EXPECT_THAT(TermsAt(one, 1, {"n9"}, FreeFacts()).waits_for, HasSubstr("--nodelist names 'n9'"));
  EXPECT_THAT(TermsAt(two, 2, {"n1"}, FreeFacts()).waits_for,
              HasSubstr("it asks for 2 nodes, and its --nodelist names 1"));
  EXPECT_THAT(TermsAt(one, 1, {"n3"}, FreeFacts(), {"V100"}).waits_for,
              HasSubstr("1 GPU of V100, and the nodes that it may run on have 0: n3"));
}

TEST(SlurmTerms, ExcludedNodesAreLeftOut) {
  SlurmJob job;
  job.excluded_nodes = {"n1", "n7"};
  EXPECT_THAT(TermsAt(job, 1, {}, FreeFacts()).nodes, ElementsAre("n2", "n3"));
  job.excluded_nodes = {"n7"};
  EXPECT_EQ(TermsAt(job, 1, {}, FreeFacts()), StartTerms());
  job.excluded_nodes = {"n1", "n2", "n3"};
  EXPECT_THAT(TermsAt(job, 1, {}, FreeFacts()).waits_for, HasSubstr("--exclude leaves no node"));
}

TEST(SlurmTerms, FeaturesThatAreNoGpuModelAreKept) {
  SlurmJob job;
  job.features = "nvlink";
  EXPECT_THAT(TermsAt(job, 1, {}, FreeFacts()).nodes, ElementsAre("n1"));
  job.features = "V100&rack2";
  EXPECT_THAT(TermsAt(job, 1, {}, FreeFacts(), {"V100"}).nodes, ElementsAre("n2"));
  job.features = "V100&ib";
  EXPECT_THAT(TermsAt(job, 1, {}, FreeFacts(), {"V100"}).waits_for,
              HasSubstr("no node that it may run on has the features of its --constraint"));
  job.features = "what(is";
  EXPECT_EQ(TermsAt(job, 1, {}, FreeFacts()), StartTerms()) << "Slurm alone looks at it";
  SlurmJob gang = OnNodes(2);
  gang.features = "[nvlink|rack2]";
  EXPECT_THAT(TermsAt(gang, 2, {}, FreeFacts()).nodes, ElementsAre("n2", "n3"));
}

TEST(SlurmTerms, WhoNamesNodesDoesNotComeToReservedOnes) {
  SlurmFacts facts = FreeFacts();
  facts.nodes[0].reserved = true;
  SlurmJob job;
  EXPECT_THAT(TermsAt(job, 1, {}, facts).nodes, IsEmpty()) << "reserved nodes are nobody's anyway";
  job.excluded_nodes = {"n2"};
  EXPECT_THAT(TermsAt(job, 1, {}, facts).nodes, ElementsAre("n3"));
  EXPECT_THAT(TermsAt(SlurmJob(), 1, {"n1"}, facts).waits_for, HasSubstr("reserved now"));
}

TEST(SlurmTerms, AJobDoesNotRunIntoAReservationThatIsToCome) {
  SlurmFacts facts = FreeFacts();
  facts.reservations["maint"] = {"maint", {"n1", "n2"}, kNow + 2 * kHour, kNow + 3 * kHour};
  SlurmJob job;
  job.partition = "gpu";
  job.time_limit = core::Seconds(3600);
  EXPECT_EQ(TermsAt(job, 1, {}, facts), StartTerms()) << "it ends before";
  EXPECT_EQ(TermsHoldUntil(job, "", facts), kNow + kHour + 1) << "and an hour later it would not";
  job.time_limit = core::Seconds(3 * 3600);
  EXPECT_THAT(TermsAt(job, 1, {}, facts).nodes, ElementsAre("n3"));
  job.excluded_nodes = {"n3"};
  EXPECT_EQ(TermsAt(job, 1, {}, facts).waits_for,
            "waiting for Slurm: reservation 'maint' begins at " +
                SlurmTimeInWords(kNow + 2 * kHour) +
                ", before its time limit ends on each node that it may run on; with a shorter "
                "--time it may run before that");
  job.time_limit.reset();
  EXPECT_THAT(TermsAt(job, 1, {}, facts).waits_for, HasSubstr("a job without a time limit ends"));
  facts.partition_limits["gpu"] = core::Seconds(3600);
  EXPECT_EQ(TermsAt(job, 1, {}, facts).waits_for, "") << "its partition's limit is its own";
  facts.now = kNow + 2 * kHour;
  EXPECT_EQ(TermsAt(job, 1, {}, facts).waits_for, "")
      << "one that has begun keeps its nodes itself";
}

TEST(SlurmTerms, WhatSlurmSaidOfAReleasedJobIsToldForAWhile) {
  EXPECT_THAT(Terms(SlurmJob(), 1, {}, "Licenses").waits_for, HasSubstr("Licenses"));
  for (const char* its : {"Licenses", "QOSMaxJobsPerUserLimit", "AssocGrpCpuLimit", "Dependency",
                          "DependencyNeverSatisfied", "Reservation", "PartitionTimeLimit"}) {
    EXPECT_TRUE(SlurmKeeps(its)) << its;
  }
  for (const char* place : {"", "Resources", "Priority", "ReqNodeNotAvail", "JobHeldUser"}) {
    EXPECT_FALSE(SlurmKeeps(place)) << place << ": another place may do";
  }
}

TEST(SlurmTerms, AJobThatOnceHadASlotGoesWhereThatSlotIs) {
  const auto nodes = [](std::vector<std::string> had, std::vector<std::string> kept = {}) {
    JobNote note;
    note.ask.gpus = 1;
    note.put = JobNote::Put();
    note.put->nodes = {{"n3", std::move(had)}};
    note.put->kept = std::move(kept);
    return TermsOf(SlurmJob(), note, {}, "", Facts());
  };
  EXPECT_EQ(nodes({"g1"}), StartTerms()) << "each node has it";
  EXPECT_THAT(nodes({"g3"}).nodes, ElementsAre("n3"));
  EXPECT_THAT(nodes({"g0"}, {"g2"}).nodes, ElementsAre("n3"));
  EXPECT_THAT(nodes({"g0"}, {"g7"}).waits_for, HasSubstr("scancel"));
}

}  // namespace
}  // namespace sharewell::engine
