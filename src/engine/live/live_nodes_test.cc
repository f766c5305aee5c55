#include "engine/live/live_nodes.h"

#include <gmock/gmock.h>

#include "testing/builders.h"

namespace sharewell::engine {
namespace {

using core::GpuId;
using core::NodeId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunnerNode NodeNamed(const std::string& name, std::vector<core::GivenGpu> gpus) {
  RunnerNode node;
  node.name = name;
  node.gpus = std::move(gpus);
  return node;
}

// Two nodes of two GPUs and one.
class LiveNodesTest : public ::testing::Test {
 protected:
  const core::Cluster cluster_ = fixtures::ClusterBuilder().Model("A").Node(2).Node(1).Build();
  const std::string first_ = cluster_.nodes()[0].name, second_ = cluster_.nodes()[1].name;
  LiveNodes nodes_{cluster_, {{0, "GPU-0", "A"}, {1, "GPU-1", "A"}, {0, "GPU-2", "A"}}};
};

TEST_F(LiveNodesTest, APlaceHasNamesAndNamesHaveAPlace) {
  RunRequest request;
  nodes_.Name(fixtures::OnGpus({1, 2}), request);
  EXPECT_THAT(request.nodes, ElementsAre(first_, second_));
  EXPECT_EQ(request.gpus.at(1).uuid, "GPU-2");
  EXPECT_THAT(nodes_.GpusOf(request), ElementsAre(GpuId(1), GpuId(2)));
  EXPECT_FALSE(nodes_.NodeOf(request).valid());
  RunRequest cpu_only;
  core::Allocation place;
  place.node = NodeId(1);
  nodes_.Name(place, cpu_only);
  EXPECT_THAT(cpu_only.nodes, ElementsAre(second_));
  EXPECT_EQ(nodes_.NodeOf(cpu_only), NodeId(1));
}

TEST_F(LiveNodesTest, ANodeTakesItsGpusWithItAndBringsOthers) {
  EXPECT_TRUE(nodes_.Go(first_));
  EXPECT_FALSE(nodes_.Go(first_)) << "twice";
  EXPECT_FALSE(nodes_.Go("nobody"));
  EXPECT_FALSE(nodes_.AreUp({GpuId(1)}, {}));
  EXPECT_FALSE(nodes_.AreUp({}, NodeId(0)));
  EXPECT_TRUE(nodes_.AreUp({GpuId(2)}, {}));
  EXPECT_FALSE(nodes_.Come(NodeNamed(first_, {{0, "GPU-7", "A"}}))) << "it has lost a GPU";
  EXPECT_TRUE(nodes_.Come(NodeNamed(first_, {{0, "GPU-0", "A"}, {1, "GPU-7", "A"}})));
  EXPECT_TRUE(nodes_.AreUp({GpuId(0), GpuId(1)}, {}));
  RunRequest request;
  nodes_.Name(fixtures::OnGpus({1}), request);
  EXPECT_EQ(request.gpus.at(0).uuid, "GPU-7") << "a repaired one is another";
}

TEST_F(LiveNodesTest, ANodeThatIsUpMayHaveAnotherGpu) {
  const auto now = NodeNamed(first_, {{0, "GPU-0", "A"}, {5, "GPU-9", "A"}});
  EXPECT_TRUE(nodes_.Come(now));
  EXPECT_FALSE(nodes_.Come(now)) << "twice";
  RunRequest request;
  nodes_.Name(fixtures::OnGpus({1}), request);
  EXPECT_EQ(request.gpus.at(0).uuid, "GPU-9");
}

TEST_F(LiveNodesTest, AGpuIsLostAndBack) {
  nodes_.LoseGpu("GPU-1");
  EXPECT_FALSE(nodes_.AreUp({GpuId(0), GpuId(1)}, {}));
  EXPECT_TRUE(nodes_.AreUp({}, NodeId(0)));
  nodes_.ReturnGpu("GPU-1");
  EXPECT_TRUE(nodes_.AreUp({GpuId(0), GpuId(1)}, {}));
}

TEST_F(LiveNodesTest, ANewNodeIsOfferedOnceUntilItIsAddedOrGoes) {
  const RunnerNode third = NodeNamed("third", {{0, "GPU-3", "A"}});
  EXPECT_TRUE(nodes_.Come(third));
  EXPECT_FALSE(nodes_.Come(third));
  EXPECT_TRUE(nodes_.EndOffer("third"));
  EXPECT_FALSE(nodes_.EndOffer("third"));
  EXPECT_TRUE(nodes_.Come(third));
  nodes_.Add(third);
  EXPECT_EQ(nodes_.gpu_count(), 4U);
  EXPECT_TRUE(nodes_.AreUp({GpuId(3)}, {}));
  EXPECT_THAT(nodes_.UpExcept({third, NodeNamed(first_, {})}), ElementsAre(second_));
  nodes_.Go(second_);
  EXPECT_THAT(nodes_.UpExcept({third, NodeNamed(first_, {})}), IsEmpty());
}

}  // namespace
}  // namespace sharewell::engine
