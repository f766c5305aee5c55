#include "server/learn/pair_memory.h"

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
  run.over = core::Seconds(12);
  return run;
}

TEST(PairMemory, F13_KeysThatWereMetOnceDoNotStayForEver) {
  const core::Cluster cluster = fixtures::ClusterBuilder().Model("V100").Node(1).Build();
  const core::Measurements none;
  PairMemory memory(cluster, none, 100);
  memory.Add(RunOf("a", "b"));
  const core::WorkloadId a = memory.IdOf(OwnedDigest("", "a"));
  const core::WorkloadId b = memory.IdOf(OwnedDigest("", "b"));
  const core::WorkloadId often = memory.IdOf(OwnedDigest("", "often"));
  std::set<core::WorkloadId> given{a, b, often};
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_TRUE(given.insert(memory.IdOf(OwnedDigest("", std::to_string(i)))).second)
        << "never two keys";
    EXPECT_EQ(memory.IdOf(OwnedDigest("", "often")), often);
    EXPECT_LE(memory.keys(), 160U);
  }
  EXPECT_EQ(memory.IdOf(OwnedDigest("", "a")), a) << "what was measured in a pair stays";
  EXPECT_EQ(memory.IdOf(OwnedDigest("", "b")), b);
  const interference::PairTable table = memory.Table();
  EXPECT_EQ(table.Speed(core::GpuModelId(0), a, b), 0.5);
  EXPECT_EQ(table.Speed(core::GpuModelId(0), b, a), 0.75);
  EXPECT_FALSE(table.Speed(core::GpuModelId(0), a, *given.rbegin()));
}

// What a server learns when it parts two must keep them apart, however well they did before.
TEST(PairMemory, OneBadMeasurementIsNotAveragedAway) {
  const core::Cluster cluster = fixtures::ClusterBuilder().Model("V100").Node(1).Build();
  const core::Measurements none;
  PairMemory memory(cluster, none, 100);
  core::SharedRun good = RunOf("a", "b"), bad = RunOf("b", "a");
  good.speed_a = good.speed_b = 0.95;
  bad.speed_a = 0.9;  // of b
  bad.speed_b = 0.5;
  for (int i = 0; i < 9; ++i) memory.Add(good);
  memory.Add(bad);
  const core::WorkloadId a = memory.IdOf(OwnedDigest("", "a")),
                         b = memory.IdOf(OwnedDigest("", "b"));
  EXPECT_NEAR(*memory.Table().Speed(core::GpuModelId(0), a, b), 0.5, 1e-6);
  EXPECT_NEAR(*memory.Table().Speed(core::GpuModelId(0), b, a), 0.9, 1e-6);
  memory.Add(good);
  EXPECT_NEAR(*memory.Table().Speed(core::GpuModelId(0), a, b), (10 * 0.95 + 0.5) / 11, 1e-6)
      << "it did better since: the mean";
}

TEST(PairMemory, KnowsWithWhichSharesAPairWasMeasured) {
  const core::Cluster cluster = fixtures::ClusterBuilder().Model("V100").Node(1).Build();
  const core::Measurements none;
  PairMemory memory(cluster, none, 100);
  core::SharedRun narrow = RunOf("victim", "hog");
  narrow.sm_share_b = 0.6;
  memory.Add(narrow);
  const core::WorkloadId a = memory.IdOf(OwnedDigest("", "victim")),
                         b = memory.IdOf(OwnedDigest("", "hog"));
  const interference::PairTable table = memory.Table();
  EXPECT_FALSE(table.Speed(core::GpuModelId(0), a, b)) << "with all SMs nobody knows";
  EXPECT_NEAR(*table.Speed(core::GpuModelId(0), a, b, 1, 0.6), 0.5, 1e-6);
  EXPECT_NEAR(*table.Speed(core::GpuModelId(0), b, a, 0.6, 1), 0.75, 1e-6);
}

TEST(PairMemory, B5_AFloodOfOneUsersPairsLeavesTheOthersTheirs) {
  const core::Cluster cluster = fixtures::ClusterBuilder().Model("V100").Node(1).Build();
  const core::Measurements none;
  PairMemory memory(cluster, none);
  core::SharedRun his = RunOf("his", "her");
  his.user_a = "bob";
  his.user_b = "ann";
  memory.Add(his);
  for (int i = 0; i < 11'000; ++i) {
    core::SharedRun hers = RunOf("x" + std::to_string(i), "y" + std::to_string(i));
    hers.user_a = hers.user_b = "eve";
    memory.Add(hers);
  }
  const auto a = memory.IdOf(OwnedDigest("bob", "his")), b = memory.IdOf(OwnedDigest("ann", "her"));
  EXPECT_TRUE(memory.Table().Speed(core::GpuModelId(0), a, b));
  const auto x = memory.IdOf(OwnedDigest("eve", "x10999"));
  const auto y = memory.IdOf(OwnedDigest("eve", "y10999"));
  EXPECT_TRUE(memory.Table().Speed(core::GpuModelId(0), x, y));
  memory.Forget("eve");
  EXPECT_FALSE(memory.Table().Speed(core::GpuModelId(0), x, y));
  EXPECT_TRUE(memory.Table().Speed(core::GpuModelId(0), a, b));
}

TEST(RunMemory, F13_KeysThatWereMetOnceDoNotStayForEver) {
  RunMemory memory(100);
  const KeyDigest often = DigestOf("often");
  std::size_t known = 0;
  for (int i = 0; i < 1000; ++i) {
    memory.Add("ann", DigestOf(std::to_string(i)), i, {}, {core::Seconds(10), {}});
    memory.Add("ann", often, i, {}, {core::Seconds(20), {}});
  }
  for (int i = 0; i < 1000; ++i)
    known += memory.NeedsOf("ann", DigestOf(std::to_string(i))) ? 1U : 0U;
  EXPECT_LE(known, 100U);
  EXPECT_GE(known, 80U);
  EXPECT_TRUE(memory.NeedsOf("ann", often)) << "who comes again is not forgotten";
}

TEST(PairMemory, U2_APairThatNobodyMeasuredIsNoneAndHalfAPairIsHalfAPair) {
  const core::Cluster cluster = fixtures::ClusterBuilder().Model("V100").Node(1).Build();
  const core::Measurements none;
  PairMemory memory(cluster, none, 100);
  core::SharedRun old = RunOf("a", "b"), half = RunOf("c", "d"), unfit = RunOf("e", "f");
  old.over = unfit.over = {};
  half.speed_b.reset();
  unfit.fits = false;
  for (const core::SharedRun& run : {old, half, unfit}) memory.Add(run);
  const auto id = [&](const char* key) { return memory.IdOf(OwnedDigest("", key)); };
  const interference::PairTable table = memory.Table();
  const core::GpuModelId v100(0);
  EXPECT_FALSE(table.Speed(v100, id("a"), id("b"))) << "it may be over a prediction";
  EXPECT_EQ(table.Speed(v100, id("c"), id("d")), 0.5);
  EXPECT_FALSE(table.Speed(v100, id("d"), id("c"))) << "what nobody saw is not 1";
  EXPECT_FALSE(table.Fits(v100, id("e"), id("f"))) << "that was seen";
}

}  // namespace
}  // namespace sharewell::server
