// What a server remembers by job id stays bounded, and nobody notices when ids are given anew.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "control/service/service.h"
#include "control/service/test_parts.h"
#include "testing/builders.h"
#include "testing/policies.h"

namespace sharewell::control {
namespace {

using core::Phase;

// Another policy, which also tells how many ids it was shown.
class CountingPolicy final : public policy::Policy {
 public:
  CountingPolicy(std::unique_ptr<policy::Policy> inner, std::atomic<std::size_t>& most)
      : inner_(std::move(inner)), most_(most) {}
  const std::string& Name() const override { return inner_->Name(); }
  std::unique_ptr<policy::Memo> NewMemo() const override { return inner_->NewMemo(); }
  core::Plan Decide(const core::Snapshot& snapshot, std::span<const core::Change> since_last,
                    policy::Memo& memo) const override {
    most_ = std::max(most_.load(), snapshot.job_count());
    return inner_->Decide(snapshot, since_last, memo);
  }

 private:
  std::unique_ptr<policy::Policy> inner_;
  std::atomic<std::size_t>& most_;
};

class ServiceIdsTest : public testing::Test {
 protected:
  ServiceIdsTest() {
    std::vector<GpuView> gpus(2);
    gpus[0].gpu = {0, "GPU-0", "V100"};
    gpus[1].gpu = {1, "GPU-1", "V100"};
    ServiceOptions options;
    options.limits.of = [](const core::Account& who) {
      return who.name == kBob.name ? core::Limits{.running_jobs = 1} : core::Limits{};
    };
    service_ = std::make_unique<Service>(cluster_, gpus, runner_, advisor_, jobs_, options);
    EXPECT_TRUE(service_->Start());
  }

  // The number of the first.
  std::int64_t Submit(std::size_t count, const core::Account& who = kAnn) {
    core::Submission job;
    job.command = {"train"};
    job.gpus = 1;
    job.exclusive = true;
    const auto told = Wait<std::vector<JobPtr>>([&](auto answer) {
      service_->Submit(std::vector<core::Submission>(count, job), who, std::move(answer));
    });
    EXPECT_TRUE(told) << told.error().message;
    return told ? told->front()->number : 0;
  }
  void Cancel(std::int64_t number) {
    EXPECT_TRUE(
        Wait<JobPtr>([&](auto answer) { service_->Act(Action::kCancel, number, kAnn, answer); }));
  }
  void Drain(const std::string& gpu, bool drained) {
    EXPECT_TRUE(Wait<void>([&](auto answer) { service_->Drain(gpu, drained, kRoot, answer); }));
  }
  bool Comes(std::int64_t number, Phase to) {
    for (int i = 0; i < 3000; ++i) {
      const JobPtr job = service_->board().Find(number);
      if (job != nullptr && job->phase == to) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::atomic<std::size_t> most_{0};
  core::Cluster cluster_ = fixtures::ClusterBuilder().Node(2).Build();
  HandRunner runner_;
  MemoryJobs jobs_;
  PlainAdvisor advisor_{std::make_unique<CountingPolicy>(fixtures::MakePolicy("slot", {}), most_)};
  std::unique_ptr<Service> service_;
};

TEST_F(ServiceIdsTest, F13_JobsThatAreOverTakeNoIds) {
  Drain("1", true);
  const std::int64_t runs = Submit(1);
  ASSERT_TRUE(Comes(runs, Phase::kRunning));
  const std::int64_t waits = Submit(1);
  constexpr std::int64_t kAtOnce = 500;
  for (int round = 0; round < 10; ++round) {
    const std::int64_t first = Submit(kAtOnce);
    for (std::int64_t number = first; number < first + kAtOnce; ++number) Cancel(number);
  }
  EXPECT_LT(most_, 3000U) << "of 5,002 jobs and one GPU that is drained";

  EXPECT_EQ(service_->board().Find(runs)->phase, Phase::kRunning);
  EXPECT_EQ(service_->board().Find(waits)->phase, Phase::kWaiting) << "the other GPU is drained";
  Drain("1", false);
  ASSERT_TRUE(Comes(waits, Phase::kRunning));
  runner_.End({waits, 1}, 7);
  ASSERT_TRUE(Comes(waits, Phase::kFailed));
  EXPECT_EQ(service_->board().Find(waits)->exit_code, 7);
  Cancel(runs);
  EXPECT_TRUE(Comes(runs, Phase::kCancelled));
  EXPECT_TRUE(runner_.RunsNothing());
}

TEST_F(ServiceIdsTest, AJobThatIsHeldDoesNotCountAsRunning) {
  const std::int64_t number = Submit(1, kBob);
  for (int attempt = 1; attempt <= 3; ++attempt) {  // so often, and it is held
    for (int i = 0; i < 3000 && !runner_.Started({number, attempt}); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    engine::RunEnded end{{number, attempt}};
    end.end.lost = true;
    runner_.Emit(end);
  }
  ASSERT_TRUE(Comes(number, Phase::kHeld));
  const std::int64_t next = Submit(1, kBob);
  EXPECT_TRUE(Comes(next, Phase::kRunning)) << service_->board().Find(next)->reason;
}

}  // namespace
}  // namespace sharewell::control
