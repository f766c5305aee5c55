// Starts that do not wait for a look at the whole queue, on a cluster that is played.
#include <gmock/gmock.h>

#include <utility>

#include "engine/slurm/control/slurm_control.h"
#include "testing/fake_slurm.h"
#include "testing/run_event_text.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::FakeSlurm;
using fixtures::FakeSlurmRunner;
using fixtures::NameOf;
using fixtures::NamesOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CountingSlurm : public FakeSlurm {
 public:
  int queues = 0;
  core::Result<std::vector<SlurmQueueLine>> Queue() override {
    ++queues;
    if (during_queue) during_queue();
    auto lines = FakeSlurm::Queue();
    if (lines) std::erase_if(*lines, [&](const auto& line) { return line.id == hidden; });
    return lines;
  }
  std::int64_t hidden = 0;  // in another partition
  std::function<void()> during_queue = {};
};

class SlurmPlaceSoonTest : public ::testing::Test {
 protected:
  SlurmPlaceSoonTest() {
    slurm_.AddNode("n1", 2, "V100");
    slurm_.AddNode("n2", 4, "V100");
    SlurmControlOptions options = FakeSlurmRunner::Options(slurm_);
    options.meanwhile = [this] {
      if (!std::exchange(command_, false)) return false;
      control_->Start(late_);
      return true;
    };
    control_ = std::make_unique<SlurmControl>(slurm_, options);
    SHAREWELL_CHECK(control_->Open().has_value());
  }
  static RunRequest Request(std::int64_t job, const std::string& gpu) {
    RunRequest request;
    request.id = {job, 1};
    request.nodes = {gpu.substr(0, gpu.find('/'))};
    request.gpus = {{0, gpu, "V100"}};
    request.cores = 1;
    return request;
  }
  std::vector<std::string> Look() {
    std::vector<RunEvent> told;
    control_->Cycle(slurm_.now(), told);
    return NamesOf(told);
  }
  std::vector<std::string> Do(std::optional<Seconds>* due = nullptr) {
    std::vector<RunEvent> told;
    const Seconds next = control_->DoNow(slurm_.now(), told);
    if (due != nullptr) *due = next;
    return NamesOf(told);
  }

  CountingSlurm slurm_;
  std::unique_ptr<SlurmControl> control_;
  RunRequest late_;       // comes while a look is under way,
  bool command_ = false;  // once
};

TEST_F(SlurmPlaceSoonTest, AStartBetweenTwoLooksIsReleasedWithoutReadingTheQueue) {
  const auto job = slurm_.Submit(1);
  Look();
  const int queues = slurm_.queues;
  control_->Start(Request(job, "n1/g1"));
  Do();
  EXPECT_EQ(slurm_.queues, queues);
  EXPECT_THAT(slurm_.job(job).required_nodes, ElementsAre("n1"));
  EXPECT_GT(slurm_.job(job).priority, 0);
  slurm_.Advance(slurm_.now() + Seconds(1));
  EXPECT_THAT(Look(), Contains(NameOf<RunStarted>()));
  EXPECT_EQ(slurm_.wrong, "");
}

TEST_F(SlurmPlaceSoonTest, AStartThatComesDuringALookIsReleasedInIt) {
  const auto job = slurm_.Submit(1);
  Look();
  late_ = Request(job, "n1/g1");
  slurm_.during_queue = [&] { command_ = true; };
  Look();
  EXPECT_GT(slurm_.job(job).priority, 0);
}

TEST_F(SlurmPlaceSoonTest, WhatWasCancelledSinceTheLookEnds) {
  const auto job = slurm_.Submit(1);
  Look();
  (void)slurm_.Cancel({std::to_string(job)});
  control_->Start(Request(job, "n1/g1"));
  EXPECT_THAT(Do(), ElementsAre(NameOf<JobWithdrawn>(), NameOf<RunEnded>()));
}

TEST_F(SlurmPlaceSoonTest, WhatAnAdminReleasedSinceTheLookIsTheirsAndIsNotTouched) {
  const auto job = slurm_.Submit(1);
  Look();
  slurm_.starts_jobs = false;
  slurm_.Do("release " + std::to_string(job));
  slurm_.log.clear();
  control_->Start(Request(job, "n1/g1"));
  EXPECT_THAT(Do(), ElementsAre(NameOf<JobWithdrawn>(), NameOf<RunEnded>()));
  EXPECT_THAT(slurm_.log, IsEmpty());
}

// As after a time without a server, in which a job ran to its end and Slurm forgot it.
TEST_F(SlurmPlaceSoonTest, WhatIsOverAndForgottenEndsAsItsAccountingSays) {
  slurm_.accounts = true;
  const auto job = slurm_.Submit(1, {Seconds(5), 3});
  Look();
  control_->Start(Request(job, "n1/g1"));
  Do();
  slurm_.Advance(slurm_.now() + Seconds(10));
  slurm_.Purge(job);
  SlurmControl next(slurm_, FakeSlurmRunner::Options(slurm_));
  ASSERT_TRUE(next.Open());
  EXPECT_THAT(next.Recover().value(), IsEmpty());
  RunRequest again = Request(job, "n1/g1");
  again.id.attempt = 2;
  next.Start(again);
  std::vector<RunEvent> told;
  next.Cycle(slurm_.now(), told);
  ASSERT_EQ(NamesOf(told), (NamesOf<RunStarted, RunEnded>()));
  EXPECT_EQ(std::get<RunEnded>(told[1]).end.exit_code, 3);
}

// Between its decision and its place: the queue that is read has our partition's jobs alone.
TEST_F(SlurmPlaceSoonTest, WhatAnAdminTookToAnotherPartitionBeforeItWasPlacedIsTheirs) {
  const auto job = slurm_.Submit(1);
  Look();
  slurm_.hidden = job;
  slurm_.job(job).partition = "other";
  slurm_.log.clear();
  control_->Start(Request(job, "n1/g1"));
  EXPECT_THAT(Look(), ElementsAre(NameOf<JobWithdrawn>(), NameOf<RunEnded>()));
  EXPECT_THAT(slurm_.log, IsEmpty());
}

TEST_F(SlurmPlaceSoonTest, AWaveWaitsForALookWhichIsDueAtOnce) {
  std::vector<std::int64_t> jobs;
  for (int i = 0; i < 250; ++i) jobs.push_back(slurm_.Submit(1));
  Look();
  slurm_.log.clear();
  for (const auto job : jobs) control_->Start(Request(job, "n1/g1"));
  std::optional<Seconds> due;
  EXPECT_THAT(Do(&due), IsEmpty());
  EXPECT_EQ(due, slurm_.now());
  EXPECT_THAT(slurm_.log, IsEmpty());
}

// A job keeps one shard of each slot that it once had: where there is no such slot, Slurm holds it
// for its constraints for ever.
TEST_F(SlurmPlaceSoonTest, ANodeWithoutASlotThatItOnceHadIsRefused) {
  const auto job = slurm_.Submit(1, {}, [](SlurmJob& one) {
    one.admin_comment = "sharewell1 ask=gpus:1 put=1,n2:g3,shards:14,sm:100,cores:1";
  });
  Look();
  slurm_.log.clear();
  control_->Start(Request(job, "n1/g0"));
  std::vector<RunEvent> told;
  control_->DoNow(slurm_.now(), told);
  ASSERT_EQ(NamesOf(told), NamesOf<StartRefused>());
  EXPECT_THAT(std::get<StartRefused>(told[0]).why, HasSubstr("node n1 has no such slot"));
  EXPECT_THAT(slurm_.log, IsEmpty());
  RunRequest again = Request(job, "n2/g0");
  again.id.attempt = 2;
  control_->Start(again);
  Do();
  EXPECT_GT(slurm_.job(job).priority, 0) << "n2 has it";
}

}  // namespace
}  // namespace sharewell::engine
