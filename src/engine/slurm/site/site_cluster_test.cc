#include "engine/slurm/site/site_cluster.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;

std::optional<KnownGpuModel> Named(std::string_view name) {
  if (name != "V100" && name != "P100") return std::nullopt;
  return KnownGpuModel{std::string(name), core::Bytes(16e9)};
}

SlurmNode NodeOf(const std::string& name, int gpus, const std::string& model) {
  SlurmNode node;
  node.name = name;
  node.cpus = 16;
  node.memory = core::Bytes(64.0 * (1 << 30));
  node.other_gpus = gpus;
  if (gpus > 0) node.gpu_types = {model};
  return node;
}

TEST(SiteCluster, NodesThatAreAlikeAreOneEntryAndTheModelOfMostGpusIsFirst) {
  const auto text = SiteClusterText({NodeOf("n0", 0, ""), NodeOf("n1", 2, "P100"),
                                     NodeOf("n2", 2, "V100"), NodeOf("n3", 2, "V100")},
                                    Named);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text,
              HasSubstr("count = 2\ngpus = 2\ngpu = \"V100\"\ncores = 16\nmemory_gb = 64.0\n"));
  EXPECT_LT(text->find("V100"), text->find("P100"));
  EXPECT_THAT(*text, HasSubstr("count = 1\ngpus = 0\ncores = 16\n"));
}

TEST(SiteCluster, AModelThatNobodyKnowsAndAClusterWithoutGpusAreErrors) {
  const auto unknown = SiteClusterText({NodeOf("n1", 2, "X9000")}, Named);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("node 'n1' has GPUs"));
  EXPECT_FALSE(SiteClusterText({NodeOf("n0", 0, "")}, Named));
  EXPECT_FALSE(SiteClusterText({}, Named));
}

}  // namespace
}  // namespace sharewell::engine
