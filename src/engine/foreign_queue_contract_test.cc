// What holds for the queue of any manager that has users of its own: for Slurm's and for
// Kubernetes', over clusters that are played (FakeSlurm, FakeKube).
#include <gmock/gmock.h>

#include <map>
#include <memory>

#include "engine/foreign_queue.h"
#include "testing/fake_kube.h"
#include "testing/fake_slurm.h"
#include "testing/run_event_text.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::AllOf;
using fixtures::FirstOf;
using fixtures::NamesOf;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A manager with one node of two GPUs, and what its users do there.
class ManagerSide {
 public:
  virtual ~ManagerSide() = default;
  virtual Runner& runner() = 0;
  virtual ForeignQueue& queue() = 0;
  virtual void Submit() = 0;  // a job of one GPU; JobSubmitted tells its number
  virtual void Met(std::int64_t job) = 0;
  virtual void CancelThere(std::int64_t job) = 0;
  virtual bool Has(std::int64_t job) = 0;  // it waits there, or runs
  virtual void Silence(bool silent) = 0;   // it does not answer
  virtual core::GivenGpu gpu() = 0;
  virtual std::string wrong() const = 0;
};

class SlurmManager final : public ManagerSide {
 public:
  SlurmManager() : runner_(slurm_, false) {
    slurm_.AddNode("n0", 2, "A");
    EXPECT_TRUE(runner_.control.Open());
    runner_.Recover();
  }
  Runner& runner() override { return runner_; }
  ForeignQueue& queue() override { return runner_; }
  void Submit() override { slurm_.Submit(1, {.lasts = Seconds(500)}); }
  void Met(std::int64_t) override {}
  void CancelThere(std::int64_t job) override { (void)slurm_.Cancel({std::to_string(job)}); }
  bool Has(std::int64_t job) override {
    const SlurmPhase phase = slurm_.job(job).phase;
    return phase == SlurmPhase::kPending || phase == SlurmPhase::kRunning;
  }
  void Silence(bool silent) override {
    slurm_.faults.assign(silent ? 1000 : 0, fixtures::FakeSlurm::Fault::kFails);
  }
  core::GivenGpu gpu() override { return runner_.control.Nodes().at(0).gpus.at(0); }
  std::string wrong() const override { return slurm_.wrong; }

 private:
  fixtures::FakeSlurm slurm_;
  fixtures::FakeSlurmRunner runner_;
};

class KubeManager final : public ManagerSide {
 public:
  KubeManager() : runner_(kube_) {
    kube_.AddNode("n0", {"GPU-0", "GPU-1"}, "A");
    runner_.Open();
    runner_.Recover();
  }
  Runner& runner() override { return runner_; }
  ForeignQueue& queue() override { return runner_; }
  void Submit() override {
    last_ = "pod-" + std::to_string(pods_.size());
    kube_.AddPod(last_, {.lasts = Seconds(500)});
  }
  void Met(std::int64_t job) override { pods_[job] = "team/" + last_; }
  void CancelThere(std::int64_t job) override { kube_.DeletePod(pods_.at(job)); }
  bool Has(std::int64_t job) override { return kube_.HasPod(pods_.at(job)); }
  // The watch stops, which its runner's reflectors notice.
  void Silence(bool silent) override { runner_.control.SetProblem(silent ? "no answer" : ""); }
  core::GivenGpu gpu() override { return runner_.control.Nodes().at(0).gpus.at(0); }
  std::string wrong() const override { return kube_.wrong; }

 private:
  fixtures::FakeKube kube_;
  fixtures::FakeKubeRunner runner_;
  std::string last_;
  std::map<std::int64_t, std::string> pods_;
};

enum class Manager { kSlurm, kKube };

class ForeignQueueContract : public ::testing::TestWithParam<Manager> {
 protected:
  ForeignQueueContract() {
    if (GetParam() == Manager::kSlurm) {
      side_ = std::make_unique<SlurmManager>();
    } else {
      side_ = std::make_unique<KubeManager>();
    }
  }
  ~ForeignQueueContract() override { EXPECT_EQ(side_->wrong(), ""); }

  // All that is told within so long.
  std::vector<RunEvent> Hear(double seconds) {
    std::vector<RunEvent> all;
    const Seconds until = side_->runner().Now() + Seconds(seconds);
    while (side_->runner().Now() < until) side_->runner().Wait(until, all);
    return all;
  }
  std::int64_t Submitted() {
    side_->Submit();
    const std::int64_t job = FirstOf<JobSubmitted>(Hear(3)).job;
    side_->Met(job);
    return job;
  }
  std::int64_t Started() {
    const std::int64_t job = Submitted();
    RunRequest request;
    request.id = {job, 1};
    request.nodes = {"n0"};
    request.gpus = {side_->gpu()};
    request.cores = 1;
    side_->runner().Start(request);
    EXPECT_EQ(FirstOf<RunStarted>(Hear(5)).id, request.id);
    return job;
  }

  std::unique_ptr<ManagerSide> side_;
};

TEST_P(ForeignQueueContract, AJobIsToldWithItsUserAndWaitsUntilItIsStarted) {
  side_->Submit();
  const auto told = Hear(5);
  const auto jobs = AllOf<JobSubmitted>(told);
  ASSERT_THAT(jobs, SizeIs(1));
  side_->Met(jobs[0].job);
  EXPECT_EQ(jobs[0].as.asked.gpus, 1);
  EXPECT_FALSE(jobs[0].as.user.admin);
  const auto later = Hear(100);
  EXPECT_THAT(AllOf<RunStarted>(later), IsEmpty());
  EXPECT_THAT(AllOf<JobWithdrawn>(later), IsEmpty());
  EXPECT_TRUE(side_->Has(jobs[0].job));
}

TEST_P(ForeignQueueContract, WhatIsExpectedAndNotThereIsWithdrawn) {
  const std::int64_t job = Submitted();
  side_->queue().Expect(job);
  side_->queue().Expect(777);
  const auto told = Hear(5);
  EXPECT_EQ(NamesOf(told, 777), NamesOf<JobWithdrawn>());
  EXPECT_THAT(AllOf<JobWithdrawn>(told), SizeIs(1));
  EXPECT_TRUE(side_->Has(job));
}

TEST_P(ForeignQueueContract, WhatItsUserCancelsThereIsWithdrawnOnce) {
  const std::int64_t job = Submitted();
  side_->CancelThere(job);
  EXPECT_EQ(NamesOf(Hear(20), job), NamesOf<JobWithdrawn>());
}

TEST_P(ForeignQueueContract, CancelWaitingEndsWhatWaitsAndCanBeSaidAgain) {
  const std::int64_t job = Submitted(), other = Submitted();
  for (int i = 0; i < 2; ++i) {
    side_->queue().CancelWaiting(job);
    Hear(5);
    EXPECT_FALSE(side_->Has(job));
  }
  EXPECT_TRUE(side_->Has(other));
}

TEST_P(ForeignQueueContract, CancelWaitingLeavesWhatRuns) {
  const std::int64_t job = Started();
  side_->queue().CancelWaiting(job);
  EXPECT_THAT(AllOf<RunEnded>(Hear(20)), IsEmpty());
  EXPECT_TRUE(side_->Has(job));
}

TEST_P(ForeignQueueContract, WordsForItsUsersChangeNothing) {
  const std::int64_t job = Submitted();
  side_->queue().ShowReason(job, "waits for a GPU");
  side_->queue().ShowReason(777, "nobody knows it");
  EXPECT_THAT(AllOf<JobWithdrawn>(Hear(5)), IsEmpty());
  EXPECT_TRUE(side_->Has(job));
}

TEST_P(ForeignQueueContract, AManagerThatDoesNotAnswerIsAProblemUntilItDoes) {
  const std::int64_t job = Submitted();
  EXPECT_EQ(side_->queue().Problem(), "");
  side_->Silence(true);
  EXPECT_THAT(AllOf<RunnerNote>(Hear(10)), SizeIs(1)) << "a turn is made";
  EXPECT_NE(side_->queue().Problem(), "");
  side_->Silence(false);
  const auto told = Hear(30);
  EXPECT_THAT(AllOf<RunnerNote>(told), SizeIs(1));
  EXPECT_EQ(side_->queue().Problem(), "");
  EXPECT_THAT(NamesOf(told, job), IsEmpty()) << "nobody is lost";
}

INSTANTIATE_TEST_SUITE_P(Managers, ForeignQueueContract,
                         ::testing::Values(Manager::kSlurm, Manager::kKube),
                         [](const ::testing::TestParamInfo<Manager>& one) {
                           return one.param == Manager::kSlurm ? "Slurm" : "Kube";
                         });

}  // namespace
}  // namespace sharewell::engine
