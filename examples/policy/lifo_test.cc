// The example compiles and does what it says: of two that wait for one GPU, the newer one starts.
#include "lifo.h"

#include <gtest/gtest.h>

#include "policy/composed.h"
#include "policy/placement/slot.h"

namespace sharewell::policy {
namespace {

TEST(Lifo, StartsTheNewerOfTwo) {
  core::Node node;
  node.model = core::GpuModelId(0);
  node.gpus = 1;
  const core::Cluster cluster({core::GpuModel{}}, {node});
  core::Snapshot snapshot(cluster);
  for (std::size_t j = 0; j < 2; ++j) {
    core::Job job;
    job.id = core::JobId(j);
    job.submit = core::Seconds(static_cast<double>(j));
    core::Estimate estimate;
    estimate.on.resize(1);
    snapshot.AdvanceTo(job.submit);
    snapshot.Submit(job, estimate);
  }
  const auto policy =
      Compose("lifo", NewLifoOrder(), NewSlotPlacement(), NewAskedSizing(), Options());
  const auto memo = policy->NewMemo();
  const core::Plan plan = policy->Decide(snapshot, {}, *memo);
  ASSERT_EQ(plan.starts.size(), 1U);
  EXPECT_EQ(plan.starts[0].job, core::JobId(1));
}

}  // namespace
}  // namespace sharewell::policy
