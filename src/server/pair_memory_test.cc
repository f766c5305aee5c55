#include "server/pair_memory.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "testing/builders.h"

namespace sharewell::server {
namespace {

core::SharedRun RunOf(const std::string& a, const std::string& b) {
  core::SharedRun run;
  run.gpu_model = "V100";
  run.a = a;
  run.b = b;
  run.speed_a = 0.5;
  run.speed_b = 0.75;
  run.fits = true;
  return run;
}

TEST(PairMemory, F13_KeysThatWereMetOnceDoNotStayForEver) {
  const core::Cluster cluster = fixtures::ClusterBuilder().Model("V100").Node(1).Build();
  const core::Measurements none;
  PairMemory memory(cluster, none, 100);
  memory.Add(RunOf("a", "b"));
  const core::WorkloadId a = memory.IdOf(DigestOf("a"));
  const core::WorkloadId b = memory.IdOf(DigestOf("b"));
  const core::WorkloadId often = memory.IdOf(DigestOf("often"));
  std::set<core::WorkloadId> given{a, b, often};
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(given.insert(memory.IdOf(DigestOf(std::to_string(i)))).second) << "never two keys";
    EXPECT_EQ(memory.IdOf(DigestOf("often")), often);
    EXPECT_LE(memory.keys(), 160U);
  }
  EXPECT_EQ(memory.IdOf(DigestOf("a")), a) << "what was measured in a pair stays";
  EXPECT_EQ(memory.IdOf(DigestOf("b")), b);
  const interference::PairTable table = memory.Table();
  EXPECT_EQ(table.Speed(core::GpuModelId(0), a, b), 0.5);
  EXPECT_EQ(table.Speed(core::GpuModelId(0), b, a), 0.75);
  EXPECT_FALSE(table.Speed(core::GpuModelId(0), a, *given.rbegin()));
}

TEST(PairMemory, TellsRunsWithFewerSmsApart) {
  const core::Cluster cluster = fixtures::ClusterBuilder().Model("V100").Node(1).Build();
  const core::Measurements none;
  PairMemory memory(cluster, none);
  core::SharedRun narrow = RunOf("a", "b");
  narrow.speed_a = 0.7;
  narrow.sm_share_b = 0.8;
  memory.Add(narrow);
  const core::WorkloadId a = memory.IdOf(DigestOf("a"));
  const core::WorkloadId b = memory.IdOf(DigestOf("b"));
  EXPECT_FALSE(memory.Table().Speed(core::GpuModelId(0), a, b)) << "nothing is known of that";
  memory.Add(RunOf("a", "b"));
  EXPECT_EQ(memory.Table().Speed(core::GpuModelId(0), a, b), 0.5);
  EXPECT_NEAR(*memory.Table().Speed(core::GpuModelId(0), a, b, 1, 0.8), 0.7, 1e-6);
}

TEST(RunMemory, F13_KeysThatWereMetOnceDoNotStayForEver) {
  RunMemory memory(100);
  const KeyDigest often = DigestOf("often");
  std::size_t known = 0;
  for (int i = 0; i < 1000; ++i) {
    memory.Add(DigestOf(std::to_string(i)), i, {}, core::Seconds(10));
    memory.Add(often, i, {}, core::Seconds(20));
  }
  for (int i = 0; i < 1000; ++i) known += memory.NeedsOf(DigestOf(std::to_string(i))) ? 1U : 0U;
  EXPECT_LE(known, 100U);
  EXPECT_GE(known, 80U);
  EXPECT_TRUE(memory.NeedsOf(often)) << "who comes again is not forgotten";
}

}  // namespace
}  // namespace sharewell::server
