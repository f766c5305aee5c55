#include "catalogue/cluster_file.h"

#include <gmock/gmock.h>

#include "platform/files/test_folder.h"

namespace sharewell::catalogue {
namespace {

using core::Cluster;
using core::ErrorKind;
using testing::AllOf;
using testing::HasSubstr;

core::Result<Cluster> FromText(std::string_view text) {
  return ReadClusterText(text, "c.toml", GpuCatalogue::Builtin());
}

core::Result<Cluster> FromSpec(const std::string& spec) {
  return ReadCluster(spec, GpuCatalogue::Builtin());
}

std::string ErrorOf(const core::Result<Cluster>& cluster) {
  if (cluster) return "no error";
  EXPECT_EQ(cluster.error().kind, ErrorKind::kUsage);
  return cluster.error().message;
}

TEST(ClusterShorthand, IsNodesTimesGpusTimesModel) {
  const auto cluster = FromSpec("64x8xV100");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 64U);
  EXPECT_EQ(cluster->gpu_count(), 512U);
  EXPECT_EQ(cluster->models()[0].name, "V100");
  EXPECT_EQ(cluster->nodes()[3].name, "node-3");
  EXPECT_EQ(cluster->nodes()[3].cores, std::nullopt) << "nothing is assumed of the host";
}

TEST(ClusterShorthand, JoinsWithPlusAndKeepsTheOrderOfModels) {
  const auto cluster = FromSpec("4x1xV100 + 2x2xp100+1x1xTesla K80+1x1xv100");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->models().size(), 3U);
  EXPECT_EQ(cluster->models()[0].name, "V100") << "the first is the reference model";
  EXPECT_EQ(cluster->models()[2].name, "K80");
  EXPECT_EQ(cluster->CountOf(core::GpuModelId(0)), 5);
  EXPECT_EQ(cluster->CountOf(core::GpuModelId(1)), 4);
  EXPECT_EQ(cluster->nodes().back().name, "node-7");
}

TEST(ClusterShorthand, U15_OneNodeNeedsNoCountOfNodes) {
  const auto cluster = FromSpec("4xa100+2x1xRTX4090");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->nodes().size(), 3U);
  EXPECT_EQ(cluster->node(core::NodeId(0)).gpus, 4);
  EXPECT_EQ(cluster->model(cluster->node(core::NodeId(0)).model).name, "A100");
  EXPECT_EQ(cluster->model(cluster->node(core::NodeId(2)).model).name, "RTX 4090");
  EXPECT_THAT(ErrorOf(FromSpec("0xA100")), HasSubstr("at least 1"));
}

TEST(ClusterShorthand, U13_NamesAsPeopleWriteThem) {
  const auto cluster = FromSpec("1x4xA6000");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->models().at(0).name, "RTX A6000");
}

TEST(ClusterShorthand, RefusesWhatMakesNoSense) {
  EXPECT_THAT(ErrorOf(FromSpec("0x8xV100")), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf(FromSpec("8x0xV100")), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf(FromSpec("1x99999999999xV100")), HasSubstr("at most 1000000"));
  EXPECT_THAT(ErrorOf(FromSpec("1000001x1xV100")), HasSubstr("more than 1000000"));
  EXPECT_THAT(ErrorOf(FromSpec("99999999999999999999x8xV100")), HasSubstr("more than 1000000"));
  EXPECT_THAT(ErrorOf(FromSpec("200000x8xV100")), HasSubstr("more than 1000000 GPUs"));
  EXPECT_THAT(ErrorOf(FromSpec("2x8xV1000")), HasSubstr("did you mean 'V100'?"));
}

TEST(ClusterSpec, WhatIsNeitherFileNorShorthandGetsBothExplained) {
  for (const char* spec : {"none.toml", "8V100", "x8xV100", "-1x8xV100", "8x8x", "1x1xV100+", ""}) {
    const auto message = ErrorOf(FromSpec(spec));
    EXPECT_THAT(message, HasSubstr("TOML file with [[nodes]]")) << spec;
    EXPECT_THAT(message, HasSubstr("64x8xV100")) << spec;
  }
  EXPECT_THAT(ErrorOf(FromSpec(".")), HasSubstr("is a folder"));
}

TEST(ClusterToml, ReadsNodes) {
  const auto cluster = FromText(R"(
[[nodes]]
name = "big"
count = 2
gpus = 4
gpu = "nvidia h200"
cores = 64
memory_gb = 512
memory_bandwidth_gbs = 300.5
pcie_gbs = 64
network_gbs = 25
gpu_islands = "0,1|2,3"

[[nodes]]
gpus = 0
cores = 96
)");
  ASSERT_TRUE(cluster) << cluster.error().message;
  ASSERT_EQ(cluster->nodes().size(), 3U);
  const auto& node = cluster->nodes()[1];
  EXPECT_EQ(node.name, "big-1");
  EXPECT_EQ(node.gpus, 4);
  EXPECT_EQ(node.cores, 64);
  EXPECT_EQ(node.memory, core::GiB(512));
  EXPECT_EQ(node.memory_bandwidth, core::GBps(300.5));
  EXPECT_EQ(node.pcie, core::GBps(64));
  EXPECT_EQ(node.network, core::GBps(25));
  EXPECT_EQ(node.islands.Text(), "0,1|2,3");
  EXPECT_EQ(cluster->model(node.model).name, "H200");
  EXPECT_EQ(cluster->nodes()[2].name, "node-2");
  EXPECT_EQ(cluster->nodes()[2].gpus, 0);
}

TEST(ClusterToml, NamesFileLineAndKeyOfEveryMistake) {
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 2\ngpu = \"H200\"\ngpu_islands = \"0,1|2\"\n")),
              AllOf(HasSubstr("c.toml: line 4: islands of GPUs '0,1|2'"), HasSubstr("from 0 to 1"),
                    HasSubstr("write them as in")));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 1\ngpu = \"H200\"\ncuont = 2\n")),
              AllOf(HasSubstr("c.toml: line 4: unknown key 'cuont' in [[nodes]]; the keys are"),
                    HasSubstr("; did you mean 'count'?")));
  EXPECT_THAT(ErrorOf(FromText("[[node]]\ngpus = 1\n")), HasSubstr("did you mean 'nodes'?"));
  EXPECT_THAT(ErrorOf(FromText("[nodes]\ngpus = 1\n")), HasSubstr("double brackets"));
  EXPECT_THAT(ErrorOf(FromText("nodes = [1]\n")), HasSubstr("line 1: nodes must hold tables"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpu = \"H200\"\n")), HasSubstr("add `gpus = 8`"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 8\n")), HasSubstr("add `gpu = \"H200\"`"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = \"8\"\n")),
              HasSubstr("line 2: gpus must be a whole number"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 1.5\n")),
              HasSubstr("gpus must be a whole number"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = -1\n")), HasSubstr("not -1"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 99999999999\n")), HasSubstr("gpus must be"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ncount = 0\ngpus = 0\n")),
              HasSubstr("line 2: count must be"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 0\ncores = nan\n")),
              HasSubstr("line 3: cores must be"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 0\nmemory_gb = inf\n")),
              HasSubstr("memory_gb must be"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 0\npcie_gbs = -3\n")),
              HasSubstr("pcie_gbs must be"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 0\ncores = true\n")), HasSubstr("cores must be"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 1\ngpu = 5\n")), HasSubstr("gpu must be a text"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 1\ngpu = \"H2000\"\n")),
              HasSubstr("line 3: unknown GPU model 'H2000'; did you mean 'H200'?"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]]\ngpus = 2\ngpu = \"T4\"\ncount = 600000\n")),
              HasSubstr("line 4: the cluster would have more than 1000000 GPUs"));
  EXPECT_THAT(
      ErrorOf(FromText("[[nodes]]\nname=\"a\"\ngpus = 0\n[[nodes]]\nname=\"a\"\ngpus = 0\n")),
      HasSubstr("two nodes are named 'a'"));
}

TEST(ClusterToml, RefusesWhatIsNoClusterFile) {
  EXPECT_THAT(ErrorOf(FromText("")), HasSubstr("c.toml: is empty"));
  EXPECT_THAT(ErrorOf(FromText(" \n\n")), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf(FromText("# nothing\n")), HasSubstr("lists no nodes"));
  EXPECT_THAT(ErrorOf(FromText("nodes = []\n")), HasSubstr("lists no nodes"));
  EXPECT_THAT(ErrorOf(FromText("[[nodes]\n")), HasSubstr("c.toml: line 1: not TOML"));
  EXPECT_THAT(ErrorOf(FromText(std::string("[[nodes]]\nname = \"\xff\"\n"))),
              HasSubstr("not TOML"));
  EXPECT_THAT(ErrorOf(FromText(std::string(std::size_t{17} << 20, '#'))),
              HasSubstr("larger than 16 MiB"));
}

TEST(ClusterOpenb, ReadsTheNodeList) {
  const auto cluster = FromText(
      "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,96000,1024,8,V100M32\nn2,1000,"
      "1,0,\n");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes()[0].name, "n0");
  EXPECT_EQ(cluster->nodes()[0].cores, 64);
  EXPECT_EQ(cluster->nodes()[0].memory, core::GiB(256));
  EXPECT_EQ(cluster->models()[1].name, "V100");
  EXPECT_EQ(cluster->gpu_count(), 10U);
  EXPECT_EQ(cluster->nodes()[2].gpus, 0);
}

TEST(ClusterOpenb, NamesTheLineOfAMistake) {
  const std::string header = "sn,cpu_milli,memory_mib,gpu,model\n";
  EXPECT_THAT(ErrorOf(FromText(header + "n0,1,1,1,P101\n")),
              HasSubstr("c.toml: line 2, column model: 'P101'"));
  EXPECT_THAT(ErrorOf(FromText(header + "n0,1,1,-1,P100\n")),
              HasSubstr("line 2, column gpu: '-1'"));
  EXPECT_THAT(ErrorOf(FromText(header + "n0,1,1,1,T4\nn0,1,1,1,T4\n")),
              HasSubstr("line 3: two nodes are named"));
  EXPECT_THAT(ErrorOf(FromText(header)), HasSubstr("lists no nodes"));
}

TEST(ClusterFile, TheExampleIsRead) {
  const auto cluster = FromSpec("examples/cluster.toml");
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 3U);
  EXPECT_EQ(cluster->gpu_count(), 12U);
  EXPECT_EQ(cluster->models()[0].name, "H200");
}

TEST(ClusterFile, ReadsTheRealNodeList) {
  SHAREWELL_NEEDS_DATA(path, "openb/openb_node_list_gpu_node.csv");
  const auto cluster = FromSpec(path);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->nodes().size(), 1213U);
  EXPECT_EQ(cluster->gpu_count(), 6212U);
}

}  // namespace
}  // namespace sharewell::catalogue
