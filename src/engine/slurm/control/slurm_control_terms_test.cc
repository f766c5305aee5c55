// What a job's user asked for of its nodes, and what Slurm keeps its nodes for, on a cluster that
// is played.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "engine/slurm/control/slurm_control.h"
#include "testing/fake_slurm.h"
#include "testing/run_event_text.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::FakeSlurm;
using fixtures::FakeSlurmRunner;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SlurmControlTermsTest : public ::testing::Test {
 protected:
  SlurmControlTermsTest() {
    for (const char* name : {"n1", "n2", "n3"}) slurm_.AddNode(name, 2, "V100");
    slurm_.node("n2").features.emplace_back("nvlink");
    Restart();
  }
  void Restart() {
    runner_ = std::make_unique<FakeSlurmRunner>(slurm_, false);
    SHAREWELL_CHECK(runner_->control.Open().has_value());
    (void)runner_->Recover();
  }
  std::vector<RunEvent> Hear(double seconds) { return runner_->Hear(Seconds(seconds)); }
  // As told last.
  static StartTerms TermsIn(const std::vector<RunEvent>& events, std::int64_t job) {
    StartTerms terms;
    for (const RunEvent& event : events) {
      if (fixtures::JobOf(event) != job) continue;
      if (const auto* submitted = std::get_if<JobSubmitted>(&event)) terms = submitted->as.terms;
      if (const auto* changed = std::get_if<TermsChanged>(&event)) terms = changed->terms;
    }
    return terms;
  }

  FakeSlurm slurm_;
  std::unique_ptr<FakeSlurmRunner> runner_;
};

TEST_F(SlurmControlTermsTest, WhatItsUserAskedForOfItsNodesIsTold) {
  const auto plain = slurm_.Submit(1);
  const auto named = slurm_.Submit(1, {}, [](SlurmJob& job) { job.required_nodes = {"n3"}; });
  const auto left_out = slurm_.Submit(1, {}, [](SlurmJob& job) { job.excluded_nodes = {"n1"}; });
  const auto like = slurm_.Submit(1, {}, [](SlurmJob& job) { job.features = "nvlink"; });
  const auto told = Hear(3);
  EXPECT_EQ(TermsIn(told, plain), StartTerms());
  EXPECT_THAT(TermsIn(told, named).nodes, ElementsAre("n3"));
  EXPECT_THAT(TermsIn(told, left_out).nodes, ElementsAre("n2", "n3"));
  EXPECT_THAT(TermsIn(told, like).nodes, ElementsAre("n2"));
}

TEST_F(SlurmControlTermsTest, ANodeListOutlivesThePlaceThatReplacedItAndTheServer) {
  const auto job = slurm_.Submit(1, {Seconds(1000)}, [](SlurmJob& one) {
    one.required_nodes = {"n2", "n3"};
  });
  slurm_.job(job).nodes_wanted = 2;
  Hear(3);
  RunRequest request;
  request.id = {job, 1};
  request.nodes = {"n2", "n3"};
  request.gpus = {{2, "n2/g0", "V100"}, {4, "n3/g0", "V100"}};
  request.cores = 1;
  runner_->Start(request);
  Hear(5);
  EXPECT_THAT(slurm_.job(job).nodes, ElementsAre("n2", "n3"));
  EXPECT_THAT(slurm_.job(job).admin_comment, HasSubstr("nodes:n2+n3"));
  runner_->Stop({job, 1}, {});
  Hear(5);
  slurm_.job(job).required_nodes = {"n1"};  // as after another place
  Restart();
  EXPECT_THAT(TermsIn(Hear(3), job).nodes, ElementsAre("n2", "n3"));
  EXPECT_EQ(slurm_.wrong, "");
}

TEST_F(SlurmControlTermsTest, GpusOfANodeWithoutAnAgentAreOneJobsEach) {
  std::set<std::string> heard{"n2"};
  SlurmControlOptions options = FakeSlurmRunner::Options(slurm_);
  options.watched = [&](const std::string& node) { return heard.contains(node); };
  SlurmControl control(slurm_, std::move(options));
  ASSERT_TRUE(control.Open());
  EXPECT_TRUE(control.Nodes().at(0).exclusive);
  EXPECT_FALSE(control.Nodes().at(1).exclusive);
  EXPECT_THAT(control.remarks(), ElementsAre(HasSubstr("no agent is heard on n1, n3")));
  heard = {"n1", "n2"};
  std::vector<RunEvent> told;
  control.Cycle(Seconds(10), told);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(std::get<NodeChanged>(told[0]).node, "n1");
  EXPECT_FALSE(std::get<NodeChanged>(told[0]).exclusive);
  heard.clear();
  told.clear();
  control.Cycle(Seconds(20), told);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(std::get<NodeChanged>(told[1]).exclusive);
  EXPECT_THAT(std::get<NodeChanged>(told[1]).why, HasSubstr("no agent is heard there any more"));
}

TEST_F(SlurmControlTermsTest, AJobOfWholeNodesHasTheirGpusAndNoShards) {
  const auto job = slurm_.Submit(1, {Seconds(1000)}, [](SlurmJob& one) { one.whole_nodes = true; });
  const auto told = Hear(3);
  for (const JobSubmitted& event : fixtures::AllOf<JobSubmitted>(told)) {
    EXPECT_EQ(event.as.asked.cores, 16) << "nobody else may be there";
  }
  RunRequest request;
  for (const char* slot : {"n1/g0", "n2/g1"}) {
    ++request.id.attempt;
    request.id.job = job;
    request.nodes = {std::string(slot).substr(0, 2)};
    request.gpus = {{0, slot, "V100"}};
    request.cores = 16;
    runner_->Start(request);
    Hear(5);
    EXPECT_THAT(slurm_.job(job).nodes, ElementsAre(request.nodes[0]));
    EXPECT_EQ(slurm_.job(job).gres, fmt::format("gres:gpu:{}:1", std::string(slot).substr(3)));
    EXPECT_EQ(slurm_.job(job).cpus, 1) << "as many as its user asked for";
    EXPECT_TRUE(slurm_.job(job).slots.empty());
    runner_->Stop(request.id, {});
    Hear(5);
  }
  EXPECT_EQ(slurm_.wrong, "");
}

TEST_F(SlurmControlTermsTest, AJobWaitsForAReservationThatItWouldRunIntoAndGoesOnAfterIt) {
  slurm_.reservations = {{"maint", {"n1", "n2", "n3"}, 1'060'000, 1'090'000}};
  const auto brief = slurm_.Submit(1, {}, [](SlurmJob& job) { job.time_limit = Seconds(30); });
  const auto lengthy = slurm_.Submit(1, {}, [](SlurmJob& job) { job.time_limit = Seconds(600); });
  auto told = Hear(6);
  EXPECT_EQ(TermsIn(told, brief), StartTerms());
  EXPECT_THAT(TermsIn(told, lengthy).waits_for, HasSubstr("reservation 'maint' begins at"));
  told = Hear(30);
  EXPECT_THAT(TermsIn(told, brief).waits_for, HasSubstr("reservation 'maint' begins at"))
      << "it is too late for it by now";
  slurm_.reservations.clear();
  told = Hear(70);
  EXPECT_EQ(TermsIn(told, brief).waits_for, "");
  EXPECT_EQ(TermsIn(told, lengthy).waits_for, "");
}

}  // namespace
}  // namespace sharewell::engine
