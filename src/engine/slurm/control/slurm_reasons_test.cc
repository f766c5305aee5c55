#include "engine/slurm/control/slurm_reasons.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "testing/fake_slurm.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using fixtures::FakeSlurm;
using fixtures::FakeSlurmRunner;
using ::testing::IsEmpty;

class SlurmReasonsTest : public ::testing::Test {
 protected:
  SlurmReasonsTest() {
    slurm_.AddNode("n1", 2, "V100");
    runner_ = std::make_unique<FakeSlurmRunner>(slurm_, false);
    SHAREWELL_CHECK(runner_->control.Open().has_value());
    (void)runner_->Recover();
  }
  std::int64_t Waiting(const std::string& comment = "") {
    const auto job =
        slurm_.Submit(1, {Seconds(5)}, [&](SlurmJob& of_slurm) { of_slurm.comment = comment; });
    runner_->Expect(job);
    return job;
  }
  void Hear(double seconds) { (void)runner_->Hear(Seconds(seconds)); }
  auto Writes() const {
    return std::count_if(slurm_.log.begin(), slurm_.log.end(), [](const std::string& line) {
      return line.find(" Comment=") != std::string::npos;
    });
  }

  FakeSlurm slurm_;
  std::unique_ptr<FakeSlurmRunner> runner_;
};

TEST_F(SlurmReasonsTest, IsInTheCommentWhereItsUserHasNone) {
  const auto silent = Waiting(), says = Waiting("for my thesis");
  Hear(2);
  for (const auto job : {silent, says}) runner_->ShowReason(job, "2 jobs go before it");
  Hear(12);
  EXPECT_EQ(slurm_.job(silent).comment, "[sharewell] 2 jobs go before it");
  EXPECT_EQ(slurm_.job(says).comment, "for my thesis");
}

TEST_F(SlurmReasonsTest, IsWrittenWhenItChangesAndNotTooOften) {
  const auto job = Waiting();
  Hear(2);
  runner_->ShowReason(job, "one");
  Hear(12);
  runner_->ShowReason(job, "one");
  Hear(60);
  EXPECT_EQ(Writes(), 1);
  for (int i = 0; i < 10; ++i) {
    runner_->ShowReason(job, std::to_string(i));
    Hear(1);
  }
  EXPECT_LE(Writes(), 2);
  Hear(60);
  EXPECT_EQ(slurm_.job(job).comment, "[sharewell] 9");
}

TEST_F(SlurmReasonsTest, TheLineThatPlacesAJobTakesItBack) {
  const auto job = Waiting();
  Hear(2);
  runner_->ShowReason(job, "no GPU is free");
  Hear(12);
  RunRequest request;
  request.id = {job, 1};
  request.nodes = {"n1"};
  request.gpus = {{0, "n1/g0", "V100"}};
  request.cores = 1;
  runner_->Start(request);
  Hear(3);
  EXPECT_THAT(slurm_.job(job).comment, IsEmpty());
}

TEST_F(SlurmReasonsTest, ALongOneIsCutAndOneThatLooksLikeANoteIsNotWritten) {
  const auto longer = Waiting(), forged = Waiting();
  Hear(2);
  runner_->ShowReason(longer, "\"" + std::string(158, 'x') + "\u00e4\u00e4\n");
  runner_->ShowReason(forged, "node n1 is down: AdminComment=sharewell1 put=1");
  Hear(12);
  EXPECT_EQ(slurm_.job(longer).comment, "[sharewell]  " + std::string(158, 'x') + "...");
  EXPECT_THAT(slurm_.job(forged).comment, IsEmpty());
}

TEST_F(SlurmReasonsTest, ManyAreShownSomeAtATime) {
  std::vector<std::int64_t> jobs;
  for (std::size_t i = 0; i < 3 * SlurmReasons::kMostAtOnce; ++i) jobs.push_back(Waiting());
  Hear(6);
  for (const auto job : jobs) runner_->ShowReason(job, "no GPU is free");
  Hear(5.5);
  EXPECT_LE(Writes(), static_cast<std::ptrdiff_t>(2 * SlurmReasons::kMostAtOnce));
  Hear(20);
  EXPECT_EQ(Writes(), static_cast<std::ptrdiff_t>(jobs.size()));
}

}  // namespace
}  // namespace sharewell::engine
