#include "control/service/view/wait_words.h"

#include <gmock/gmock.h>

#include "testing/builders.h"

namespace sharewell::control {
namespace {

using core::JobId;
using core::Reason;
using fixtures::ClusterBuilder;
using fixtures::SnapshotBuilder;

namespace reason = core::reason;

class WaitWordsTest : public ::testing::Test {
 protected:
  WaitWordsTest()
      : s_(ClusterBuilder().Node(2).Cores(8).Build()), gpus_({Gpu(0, "GPU-a"), Gpu(1, "GPU-b")}) {}

  static GpuView Gpu(int index, const char* uuid) {
    GpuView view;
    view.gpu = {index, uuid, "H200"};
    return view;
  }

  JobId Runs(const char* user, std::size_t gpu, double cores) {
    const JobId id = s_.Running({}, {gpu}, cores);
    Name(user, id);
    return id;
  }
  void Name(const char* user, JobId id) {
    core::JobRecord record;
    record.number = static_cast<std::int64_t>(id.index()) + 1;
    record.user.name = user;
    ASSERT_EQ(live_.GiveId(live_.Add(record)), id);
  }
  std::string Of(const Reason& reason) { return WaitWords(*s_, plan_, live_, gpus_).Of(reason); }

  SnapshotBuilder s_;
  GpuTable gpus_;
  LiveJobs live_;
  core::Plan plan_;
};

TEST_F(WaitWordsTest, N3_NamesWhoHasTheCores) {
  Runs("alice", 0, 6);
  Runs("bob", 1, 1);
  const Reason cores = reason::NoCores{4, 1, core::NodeId(0)};
  EXPECT_EQ(Of(cores), "needs 4 CPU cores; 1 is free: job 1 of alice has 6, job 2 of bob has 1");
  Runs("bob", 1, 0.5);
  Runs("bob", 0, 0.25);
  Runs("bob", 0, 0.25);
  EXPECT_EQ(Of(cores),
            "needs 4 CPU cores; 1 is free: job 1 of alice has 6, job 2 of bob has 1, job 3 of bob "
            "has 0.5, 2 others have 0.5");
}

TEST_F(WaitWordsTest, N3_NamesWhoIsOnTheGpus) {
  Runs("alice", 0, 1);
  Runs("bob", 0, 1);
  EXPECT_EQ(Of(reason::NoIdleGpu{2, 1}),
            "needs 2 idle GPUs; 1 is idle where it may run: GPU 0 has job 1 of alice and job 2 of "
            "bob");
  EXPECT_EQ(Of(reason::NoMemory{core::GiB(40), core::GiB(2), core::GpuId(0)}),
            "may need 40.0 GiB of GPU memory; at most 2.0 GiB is free beside others: GPU 0 has job "
            "1 of alice and job 2 of bob");
}

TEST_F(WaitWordsTest, CountsWhatThePlanGivesAndWhatKeepsAGpuUnusedIsNobody) {
  Runs("alice", 0, 6);
  s_.Running({.exclusive = true}, {1}, 0);
  (void)live_.GiveIdToNobody();
  gpus_.SetDrained(core::GpuId(1), true);
  const JobId starts = s_.Waiting({});
  Name("bob", starts);
  plan_.starts.push_back({starts, fixtures::OnGpus({0}, 2), {}, {}});
  EXPECT_EQ(Of(reason::NoCores{4, 0, core::NodeId(0)}),
            "needs 4 CPU cores; 0 are free: job 1 of alice has 6, job 3 of bob has 2; GPU 1 is "
            "drained");
  EXPECT_EQ(Of(reason::NoIdleGpu{1, 0}),
            "needs an idle GPU, and none is idle where it may run: GPU 0 has job 1 of alice and "
            "job 3 of bob; GPU 1 is drained");
}

TEST_F(WaitWordsTest, SaysWhichNodesDoNotShareTheirGpus) {
  const core::Cluster& cluster = s_->cluster();
  const Reason no_gpu = reason::NoIdleGpu{1, 0};
  const Reason no_cores = reason::NoCores{1, 0, {}};
  EXPECT_EQ(WhyNotShared(no_gpu, cluster, {}), "");
  const std::map<core::NodeId, std::string> one{{core::NodeId(0), "no agent is heard there"}};
  EXPECT_EQ(WhyNotShared(no_gpu, cluster, one),
            "; node " + cluster.nodes()[0].name + ": no agent is heard there");
  EXPECT_EQ(WhyNotShared(no_cores, cluster, one), "") << "it waits for something else";
}

TEST(WaitWordsMemory, NamesWhoHasTheHostMemory) {
  SnapshotBuilder s(fixtures::ClusterBuilder().Node(2).Memory(64).Build());
  const JobId id = s.Running({.asked_host_gib = 40}, {0});
  LiveJobs live;
  core::JobRecord record;
  record.number = 3;
  record.user.name = "ann";
  ASSERT_EQ(live.GiveId(live.Add(record)), id);
  const GpuTable gpus({GpuView(), GpuView()});
  EXPECT_EQ(WaitWords(*s, {}, live, gpus)
                .Of(reason::NoHostMemory{core::GiB(64), core::GiB(24), core::NodeId(0)}),
            "no node has 64.0 GiB of host memory free; the most is 24.0 GiB: job 3 of ann has 40.0 "
            "GiB");
}

}  // namespace
}  // namespace sharewell::control
