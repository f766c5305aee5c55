#include "policy/project_standing.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace sharewell::policy {
namespace {

using fixtures::ClusterBuilder;
using fixtures::SnapshotBuilder;

TEST(ProjectStanding, WithoutProjectsNobodyHasAShare) {
  SnapshotBuilder world(ClusterBuilder().Node(1).Build());
  world.Running({}, {0});
  ProjectStanding standing(*world, {});
  EXPECT_FALSE(standing.Has(0));
  standing.Give(0, 1);
  EXPECT_FALSE(standing.Has(0));
}

TEST(ProjectStanding, AShareIsReachedByWhatRunsAndByWhatIsGiven) {
  SnapshotBuilder world(ClusterBuilder().Node(4).Build());
  world.Running({}, {0});
  const std::vector<core::Ratio> shares = {0.5, 0.3, 0.2};
  ProjectStanding standing(*world, shares);
  EXPECT_FALSE(standing.Has(0)) << "one GPU of two";
  standing.Give(0, 1);
  EXPECT_TRUE(standing.Has(0));
  EXPECT_FALSE(standing.Has(1)) << "one of 1.2 is below";
  standing.Give(1, 1);
  EXPECT_FALSE(standing.Has(1));
  standing.Give(1, 1);
  EXPECT_TRUE(standing.Has(1));
}

TEST(ProjectStanding, ThreeThirdsAreAWholeGpu) {
  SnapshotBuilder world(ClusterBuilder().Node(4).Build());
  for (int i = 0; i < 3; ++i) world.Running({}, {0});
  const std::vector<core::Ratio> shares = {0.25};
  EXPECT_TRUE(ProjectStanding(*world, shares).Has(0));
}

}  // namespace
}  // namespace sharewell::policy
