// Where and when Slurm would start a job.
#include "engine/slurm/slurm_terms.h"

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
  facts.reservations["theirs"] = {"theirs", {"n1", "n3"}, kNow - kHour, kNow + kHour};
  facts.reservations["later"] = {"later", {"n2"}, kNow + kHour, std::nullopt};
  return facts;
}

StartTerms Terms(const SlurmJob& job, int gpus, const std::vector<std::string>& models = {},
                 const std::string& kept = "") {
  JobNote note;
  note.ask.gpus = gpus;
  return TermsOf(job, note, models, kept, Facts());
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
