#include "core/cluster.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace sharewell::core {
namespace {

TEST(Cluster, GpusAreNumberedNodeByNode) {
  const Cluster cluster =
      fixtures::ClusterBuilder().Model("A").Model("B").Node(2).Node(0).Node(3, 1).Node(1).Build();
  EXPECT_EQ(cluster.gpu_count(), 6U);
  EXPECT_EQ(cluster.NodeOf(GpuId(1)), NodeId(0));
  EXPECT_EQ(cluster.NodeOf(GpuId(2)), NodeId(2));
  EXPECT_EQ(cluster.node(NodeId(3)).first_gpu, GpuId(5));
  EXPECT_EQ(cluster.ModelOf(GpuId(4)), GpuModelId(1));
  EXPECT_EQ(cluster.CountOf(GpuModelId(0)), 3);
  EXPECT_EQ(cluster.CountOf(GpuModelId(1)), 3);
}

TEST(Cluster, SumsUpTheNodesOfAModel) {
  const Cluster cluster = fixtures::ClusterBuilder()
                              .Model("A")
                              .Model("B")
                              .Node(4)
                              .Cores(32)
                              .Node(2)
                              .Cores(10)
                              .Node(1)
                              .Node(8, 1)
                              .Build();
  EXPECT_EQ(cluster.LargestNodeOf(GpuModelId(0)), 4);
  EXPECT_EQ(cluster.LargestNodeOf(GpuModelId(1)), 8);
  EXPECT_EQ(cluster.CoresAGpu(GpuModelId(0)), 5) << "the fewest, of those that state them";
  EXPECT_FALSE(cluster.CoresAGpu(GpuModelId(1)));
}

TEST(Cluster, GrowsAtItsEnd) {
  Cluster cluster = fixtures::ClusterBuilder().Model("A").Model("B").Node(2).Cores(8).Build();
  Node node;
  node.name = "new";
  node.model = GpuModelId(1);
  node.gpus = 3;
  node.cores = 6;
  EXPECT_EQ(cluster.Add(node), NodeId(1));
  EXPECT_EQ(cluster.gpu_count(), 5U);
  EXPECT_EQ(cluster.NodeOf(GpuId(1)), NodeId(0)) << "ids stay";
  EXPECT_EQ(cluster.NodeOf(GpuId(4)), NodeId(1));
  EXPECT_EQ(cluster.node(NodeId(1)).first_gpu, GpuId(2));
  EXPECT_EQ(cluster.CountOf(GpuModelId(1)), 3);
  EXPECT_EQ(cluster.CoresAGpu(GpuModelId(1)), 2);
}

TEST(Cluster, MayBeEmpty) { EXPECT_EQ(Cluster().gpu_count(), 0U); }

TEST(Ids, AreInvalidUntilSetAndSortByNumber) {
  EXPECT_FALSE(JobId().valid());
  EXPECT_TRUE(JobId(0).valid());
  EXPECT_LT(GpuId(2), GpuId(10));
  EXPECT_LT(JobId(7), JobId());
}

}  // namespace
}  // namespace sharewell::core
