#include "server/cluster_monitor.h"

#include <gmock/gmock.h>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/job_metrics.h"
#include "platform/files/test_folder.h"
#include "server/live/told_inbox.h"
#include "testing/unasked_store.h"

namespace sharewell::server {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr core::UnixMillis kBegin = 1'700'002'800'000;  // a round minute

// Says nothing of one node, where it is told not to.
class PartlyAwayStore : public fixtures::UnaskedStore {
 public:
  PartlyAwayStore(std::unique_ptr<store::Store> whole, const std::string& away)
      : whole_(std::move(whole)), away_(away) {}
  core::Result<std::vector<store::SeriesPoints>> LastMinutes(const std::string& node) override {
    if (node == away_) return core::FailedError("the connection was lost");
    return whole_->LastMinutes(node);
  }
  core::Result<std::vector<store::ToldHead>> ToldOn(const std::string& node) override {
    return whole_->ToldOn(node);
  }
  core::Result<std::optional<core::JobTold>> ReadTold(std::int64_t id) override {
    return whole_->ReadTold(id);
  }

 private:
  std::unique_ptr<store::Store> whole_;
  const std::string& away_;
};

// Agents on two nodes write a store; the monitor reads it when it is told to, at `now`.
class ClusterMonitorTest : public testing::Test {
 protected:
  ClusterMonitorTest() {
    auto opened = store::Open(place_);
    EXPECT_TRUE(opened) << opened.error().message;
    agent_ = std::move(*opened);
    ClusterMonitorOptions options;
    options.open = [this]() -> core::Result<std::unique_ptr<store::Store>> {
      if (away_) return core::FailedError("no route to it");
      auto whole = store::Open(place_);
      RETURN_IF_ERROR(whole);
      return std::make_unique<PartlyAwayStore>(std::move(*whole), away_of_);
    };
    options.wall = [this] { return now_; };
    options.log = [this](const std::string& line) { said_.push_back(line); };
    options.every = core::Seconds(0);
    monitor_ = std::make_unique<ClusterMonitor>(std::move(options));
  }

  void Emit(const std::string& node, core::UnixMillis after, const core::Metric& metric,
            const std::string& instance, const std::string& job, double value) {
    core::Batch batch;
    batch.time = kBegin + after;
    batch.readings.push_back({&metric, instance, job, value});
    const auto done = agent_->Append(node, batch);
    ASSERT_TRUE(done) << done.error().message;
  }
  void Steps(const std::string& node, core::UnixMillis after, std::int64_t job, double steps) {
    Emit(node, after, collect::kJobSteps, {}, "slurm/" + std::to_string(job), steps);
  }
  void LookAt(core::UnixMillis after) {
    ASSERT_TRUE(agent_->Sync());
    now_ = kBegin + after;
    monitor_->Look();
  }
  // Of job 17, as the engine asks for it.
  std::optional<engine::ToldSteps> StepsAt(core::UnixMillis after) {
    now_ = kBegin + after;
    const auto told = monitor_->Steps(running_);
    return told.contains(17) ? std::optional(told.at(17)) : std::nullopt;
  }
  static core::JobRecord Job(std::int64_t number, std::vector<std::string> gpus) {
    core::JobRecord job;
    job.number = number;
    for (std::string& uuid : gpus) job.gpus.push_back({0, std::move(uuid), "V100"});
    return job;
  }

  platform::TestFolder folder_;
  const std::string place_ = folder_.Path("s.db");
  std::unique_ptr<store::Store> agent_;
  core::UnixMillis now_ = kBegin;
  bool away_ = false;
  std::string away_of_;  // a node
  std::vector<std::string> said_;
  std::map<std::int64_t, engine::WatchedRun> running_ = {{17, {kBegin, {"n1", "n2"}}}};
  std::unique_ptr<ClusterMonitor> monitor_;
};

TEST_F(ClusterMonitorTest, StepsThatComeInLotsAreToldAsTheyWereCounted) {
  EXPECT_FALSE(StepsAt(0));
  for (int i = 1; i <= 5; ++i) Steps("n1", i * 1000, 17, i * 10);
  LookAt(6000);
  EXPECT_FALSE(StepsAt(6000)) << "8 s after they were counted";
  for (int i = 1; i <= 5; ++i) {
    const auto told = StepsAt(8000 + i * 1000 + 250);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->steps, i * 10);
    EXPECT_NEAR(told->age.value, 8.25, 1e-6);
  }
}

TEST_F(ClusterMonitorTest, OfSeveralNodesTheMostCounts) {
  StepsAt(0);
  Steps("n1", 1000, 17, 30);
  Steps("n2", 1500, 17, 40);
  LookAt(2000);
  EXPECT_EQ(StepsAt(10'000)->steps, 40);
}

TEST_F(ClusterMonitorTest, AnEarlierRunOfTheJobSaysNothing) {
  StepsAt(0);
  Steps("n1", 1000, 17, 900);
  LookAt(2000);
  running_.at(17).since = kBegin + 3000;
  EXPECT_FALSE(StepsAt(12'000));
  Steps("n1", 5000, 17, 30);
  LookAt(12'500);
  EXPECT_EQ(StepsAt(13'000)->steps, 30);
}

TEST_F(ClusterMonitorTest, WhatWatchersTellIsGivenOutOnce) {
  const auto tell = [&](const std::string& job, core::UnixMillis after, const char* document,
                        const char* off = "") {
    const core::JobTold told = {job, kBegin + after, true, document, off};
    ASSERT_TRUE(agent_->SaveTold("n1", told));
  };
  tell("slurm/17", -1000, "{\"an\":\"earlier run\"}");
  tell("slurm/99", 1000, "{}");  // nobody knows that job
  tell("another", 1000, "{}");
  StepsAt(0);
  LookAt(500);
  EXPECT_FALSE(StepsAt(500));
  tell("slurm/17", 1000, "");
  LookAt(2000);
  EXPECT_FALSE(StepsAt(2000)) << "that the watcher counts is no news by itself";
  tell("slurm/17", 2000, "{}");
  LookAt(3000);
  auto told = StepsAt(3000);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->documents, std::vector<std::string>{"{}"});
  EXPECT_EQ(told->steps, 0);
  LookAt(4000);
  EXPECT_FALSE(StepsAt(4000)) << "said once";
  tell("slurm/17", 5000, "", "KeyError");
  Steps("n1", 5000, 17, 30);
  LookAt(6000);
  told = StepsAt(14'000);
  EXPECT_EQ(told->off, "KeyError");
  EXPECT_EQ(told->steps, 30);
  EXPECT_TRUE(told->by_watcher);
  tell("slurm/17", 15'000, "", "KeyError again");
  for (int i = 0; i < 10; ++i) {
    tell("slurm/17", 16'000 + i, "{}");
    LookAt(16'000 + i);
  }
  told = StepsAt(17'000);
  EXPECT_EQ(told->documents.size(), ToldInbox::kMostDocuments - 1) << "of one run";
  EXPECT_EQ(told->off, "");
  // Put back and run again: its documents are its own.
  running_.at(17).since = kBegin + 20'000;
  StepsAt(20'000);
  tell("slurm/17", 21'000, "{\"next\":1}");
  LookAt(22'000);
  EXPECT_EQ(StepsAt(22'000)->documents, std::vector<std::string>{"{\"next\":1}"});
}

TEST_F(ClusterMonitorTest, AStoreThatIsAwaySaysNothingAndIsTriedAgain) {
  away_ = true;
  StepsAt(0);
  Steps("n1", 1000, 17, 30);
  LookAt(2000);
  LookAt(4000);
  EXPECT_FALSE(StepsAt(10'000));
  ASSERT_THAT(said_, SizeIs(1)) << "once";
  away_ = false;
  LookAt(11'000);
  EXPECT_EQ(StepsAt(11'000)->steps, 30);
  EXPECT_THAT(said_, SizeIs(2));
}

TEST_F(ClusterMonitorTest, WhatWasReadBeforeTheStoreFailedIsNotLost) {
  StepsAt(0);
  Steps("n1", 1000, 17, 30);
  away_of_ = "n2";
  LookAt(2000);
  ASSERT_THAT(said_, SizeIs(1));
  away_of_.clear();
  LookAt(4000);
  const auto told = StepsAt(10'000);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->steps, 30);
}

TEST_F(ClusterMonitorTest, SmActivityIsThatOfTheJobsGpuOnItsNodeAndGrowsStale) {
  monitor_->Began(Job(17, {"n1/g1"}));
  Emit("n1", 1000, collect::kGpuSm, "0", {}, 0.1);
  Emit("n1", 1000, collect::kGpuSm, "1", {}, 0.7);
  Emit("n2", 1000, collect::kGpuSm, "1", {}, 0.9);
  Emit("n1", 1000, collect::kJobGpuMemory, "1", "slurm/17", 3e9);
  Emit("n1", 2000, collect::kJobGpuMemory, "1", "slurm/17", 2e9);
  Emit("n1", 1000, collect::kJobGpuMemory, "1", "slurm/18", 9e9);
  LookAt(3000);
  const control::JobReading seen = monitor_->Now(17, "n1/g1");
  EXPECT_EQ(seen.sm, 0.7);
  EXPECT_EQ(seen.gpu_memory, core::Bytes(3e9)) << "the most so far";
  now_ = kBegin + 17'000;
  EXPECT_FALSE(monitor_->Now(17, "n1/g1").sm);
  EXPECT_EQ(monitor_->Now(17, "n1/g1").gpu_memory, core::Bytes(3e9));
}

TEST_F(ClusterMonitorTest, WhatAJobNeedsIsLearntWhileItHasItsGpuToItself) {
  const auto read = [&](int from, int to, double sm) {
    for (int i = from; i < to; ++i) {
      Emit("n1", i * 1000, collect::kGpuSm, "0", {}, sm);
      Emit("n1", i * 1000, collect::kJobCores, {}, "slurm/17", 2);
    }
    LookAt(to * 1000);
  };
  monitor_->Began(Job(17, {"n1/g0"}));
  read(0, 20, 0.5);
  monitor_->Began(Job(18, {"n1/g0"}));
  read(20, 30, 0.95);
  now_ = kBegin + 35'000;
  monitor_->Ended(18);
  read(30, 35, 0.95);  // of the time beside it, read late
  read(36, 50, 0.5);
  const core::Profile seen = monitor_->Seen(17);
  ASSERT_TRUE(seen.sm);
  EXPECT_NEAR(*seen.sm, 0.5, 1e-9);
  EXPECT_EQ(seen.gpu, "V100");
  EXPECT_EQ(seen.cpu_cores, 2);
  monitor_->Ended(17);
  EXPECT_NEAR(*monitor_->Seen(17).sm, 0.5, 1e-9) << "of one that has ended too";
}

TEST_F(ClusterMonitorTest, AJobOnSeveralNodesIsTakenForWhatItDoesOnItsFirst) {
  monitor_->Began(Job(17, {"n1/g0", "n1/g1", "n2/g0"}));
  for (int i = 0; i < 10; ++i) {
    Emit("n1", i * 1000, collect::kJobCores, {}, "slurm/17", 6);
    Emit("n2", i * 1000, collect::kJobCores, {}, "slurm/17", 1);
  }
  LookAt(10'000);
  EXPECT_EQ(monitor_->Seen(17).cpu_cores, 3) << "for each of the two GPUs there";
  EXPECT_THAT(said_, IsEmpty());
}

// Pods go by their uids, which change with each attempt, and their GPUs by uuids, which say nothing
// of their nodes.
class PodsMonitorTest : public ClusterMonitorTest {
 protected:
  static constexpr const char* kPod = "pod/0f2e4c1a-1b2c-4d3e-8f90-a1b2c3d4e5f6";
  PodsMonitorTest() {
    running_ = {{17, {0, {"n1", "n1"}, {kPod, "pod/other"}, {{"GPU-77", "n1/1"}}}}};
    StepsAt(0);
  }
};

TEST_F(PodsMonitorTest, AreKnownByTheNamesThatWereTold) {
  monitor_->Began(Job(17, {"GPU-77"}));
  Emit("n1", 1000, collect::kGpuSm, "0", {}, 0.1);
  Emit("n1", 1000, collect::kGpuSm, "1", {}, 0.7);
  Emit("n1", 1000, collect::kJobGpuMemory, "1", kPod, 3e9);
  Emit("n1", 1000, collect::kJobGpuMemory, "1", "pod/stranger", 9e9);
  Emit("n1", 1000, collect::kJobSteps, {}, kPod, 40);
  Emit("n1", 1000, collect::kJobSteps, {}, "pod/other", 50);  // two of one job on one node
  Emit("n1", 2000, collect::kJobSteps, {}, kPod, 41);
  Emit("n1", 1000, collect::kJobSteps, {}, "pod/stranger", 900);
  Emit("n1", 1000, collect::kJobSteps, {}, "slurm/17", 900);  // a name that it does not go by
  LookAt(3000);
  EXPECT_EQ(monitor_->Now(17, "GPU-77").sm, 0.7);
  EXPECT_EQ(monitor_->Now(17, "GPU-77").gpu_memory, core::Bytes(3e9));
  EXPECT_EQ(StepsAt(10'000)->steps, 50);
}

TEST_F(PodsMonitorTest, OfOneJobOnOneNodeAreOneJob) {
  running_.at(17).gpus = {{"GPU-77", "n1/1"}, {"GPU-78", "n1/2"}};
  StepsAt(0);
  monitor_->Began(Job(17, {"GPU-77", "GPU-78"}));
  for (int i = 0; i < 12; ++i) {
    for (const char* pod : {kPod, "pod/other"}) {
      const double begun = pod == kPod ? 0 : 1e12;  // one was there before
      Emit("n1", i * 1000, collect::kJobCores, {}, pod, pod == kPod ? 2 : 4);
      Emit("n1", i * 1000, collect::kJobResidentBytes, {}, pod, 3e9);
      Emit("n1", i * 1000, collect::kJobMemoryTrafficBytes, {}, pod, begun + i * 1e9);
      Emit("n1", i * 1000, collect::kJobGpuMemory, pod == kPod ? "1" : "2", pod, 5e9);
    }
  }
  LookAt(12'000);
  const core::Profile seen = monitor_->Seen(17);
  EXPECT_EQ(seen.cpu_cores, 3) << "for each of the two GPUs";
  EXPECT_EQ(seen.host_memory, core::Bytes(3e9));
  ASSERT_TRUE(seen.host_bandwidth);
  EXPECT_NEAR(seen.host_bandwidth->value, 1e9, 1);
  EXPECT_EQ(seen.gpu_memory, core::Bytes(5e9)) << "of one GPU";
}

TEST_F(PodsMonitorTest, StepsOfAPodThatTheJobHadBeforeAreNotItsOwn) {
  Emit("n1", 1000, collect::kJobSteps, {}, kPod, 900);
  LookAt(3000);
  EXPECT_EQ(StepsAt(10'000)->steps, 900);
  running_.at(17).names = {"pod/next"};
  EXPECT_FALSE(StepsAt(11'000));
  Emit("n1", 11'500, collect::kJobSteps, {}, "pod/next", 3);
  LookAt(12'000);
  EXPECT_EQ(StepsAt(20'000)->steps, 3);
}

TEST_F(PodsMonitorTest, OneThatBeganBeforeItsPlaceWasToldIsWatchedFromThenOn) {
  monitor_->Began(Job(18, {"GPU-78"}));
  EXPECT_FALSE(monitor_->Now(18, "GPU-78").sm);
  running_[18] = {0, {"n2"}, {"pod/late"}, {{"GPU-78", "n2/0"}}};
  StepsAt(500);
  Emit("n2", 1000, collect::kGpuSm, "0", {}, 0.6);
  Emit("n2", 1000, collect::kJobGpuMemory, "0", "pod/late", 2e9);
  LookAt(2000);
  EXPECT_EQ(monitor_->Now(18, "GPU-78").sm, 0.6);
  EXPECT_EQ(monitor_->Now(18, "GPU-78").gpu_memory, core::Bytes(2e9));
  monitor_->Ended(18);
  EXPECT_FALSE(monitor_->Now(18, "GPU-78").gpu_memory);
}

}  // namespace
}  // namespace sharewell::server
