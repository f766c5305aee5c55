#include "graph/graph_file.h"

#include <gmock/gmock.h>

#include "graph/cost.h"
#include "graph/flow.h"
#include "graph/layers/layers.h"
#include "graph/memory.h"
#include "graph/read.h"

namespace sharewell::graph {
namespace {

using ::testing::HasSubstr;

Graph SmallNet(std::int64_t batch = 8) {
  auto read = Read(R"({"inputs":[{"name":"x","shape":["batch",3,32,32]}],"layers":[
      {"type":"conv2d","out_channels":16,"kernel":3,"padding":1},{"type":"batchnorm"},
      {"type":"relu"},{"type":"globalpool"},{"type":"flatten"},{"type":"linear","out":10}]})",
                   "net.json", {.batch = batch, .named = {}});
  EXPECT_TRUE(read) << read.error().message;
  return *std::move(read);
}

core::Result<Graph> Again(const std::string& text, std::int64_t batch = 8) {
  return Read(text, "kept", {.batch = batch, .named = {}});
}

TEST(GraphFile, WhatIsReadBackCostsAndHoldsTheSame) {
  const Graph graph = SmallNet();
  const auto again = Again(WriteGraph(graph));
  ASSERT_TRUE(again) << again.error().message;
  const graph::Run run;
  const Flow flow = FlowOf(graph, run), flow_again = FlowOf(*again, run);
  const Cost cost = CostOf(graph, flow, run), cost_again = CostOf(*again, flow_again, run);
  EXPECT_GT(cost.macs, 0);
  EXPECT_EQ(cost.macs, cost_again.macs);
  EXPECT_EQ(cost.params, cost_again.params);
  EXPECT_EQ(cost.backward.kernels, cost_again.backward.kernels);
  EXPECT_EQ(MemoryOf(graph, flow, run).Peak(), MemoryOf(*again, flow_again, run).Peak());
  EXPECT_EQ(WriteGraph(*again), WriteGraph(graph)) << "and it is written the same again";
}

TEST(GraphFile, AnotherBatchIsRefusedAndTheWayOutIsSaid) {
  const auto other = Again(WriteGraph(SmallNet()), 16);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("at batch 8, not at 16"));
}

TEST(GraphFile, GraphsAreToldApartByTheirDigest) {
  const std::string text = WriteGraph(SmallNet());
  EXPECT_EQ(DigestOfGraph(text).size(), 32U);
  EXPECT_EQ(DigestOfGraph(text), DigestOfGraph(WriteGraph(SmallNet())));
  EXPECT_NE(DigestOfGraph(text), DigestOfGraph(WriteGraph(SmallNet(9))));
}

std::string Tiny(const std::string& tensors, const std::string& ops) {
  return R"({"format":"sharewell-graph","version":1,"batch":8,"inputs":[0],"outputs":[],"tensors":)" +
         tensors + R"(,"ops":)" + ops + "}";
}

TEST(GraphFile, DamageIsRefusedWithWhatItIs) {
  const std::string two = "[[1,0,[8,4]],[1,3,[8,4]]]";
  EXPECT_TRUE(Again(Tiny(two, R"([[7,"Relu",[0],[1],0,1,1,1,0]])")));
  const std::pair<std::string, const char*> damaged[] = {
      {Tiny("[[1,0,[8,-4]]]", "[]"), "-4 is no whole number from 0 to"},
      {Tiny("[[1,9,[8,4]]]", "[]"), "9 is no whole number from 0 to 3"},
      {Tiny("[[1,0]]", "[]"), "[type, role, dimensions]"},
      {Tiny(two, R"([[7,"Relu",[5],[1],0,1,1,1,0]])"), "5 is no whole number from -1 to 1"},
      {Tiny(two, R"([[7,"Relu",[1],[1],0,1,1,1,0]])"), "before it is made"},
      {Tiny(two, R"([[7,"Relu",[0],[1],0,1,1,1,0],[7,"Relu",[0],[1],0,1,1,1,0]])"), "made twice"},
      {Tiny(two, R"([[7,"Relu",[0],[1],-1,1,1,1,0]])"), "work is no number"},
      {Tiny(two, R"([[7,"Relu",[0],[1]]])"), "nine parts"},
      {Tiny(two, R"(7)"), "\"ops\" is no list"}};
  for (const auto& [text, why] : damaged) {
    const auto read = Again(text);
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(why));
  }
}

TEST(GraphFile, ANewerVersionIsSaidToBeOne) {
  const auto read = Again(R"({"format":"sharewell-graph","version":2,"batch":8})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("of version 2"));
}

}  // namespace
}  // namespace sharewell::graph
