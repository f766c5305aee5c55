#include "server/slurm/slurm_lock.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "platform/files/test_folder.h"

namespace sharewell::server {
namespace {

using ::testing::HasSubstr;

class ClusterLockTest : public testing::Test {
 protected:
  core::Result<ClusterLock> Take(const std::string& cluster, const std::string& partition,
                                 const std::string& who = "a") {
    return ClusterLock::Take(folder_.Path("run"), cluster, partition, who);
  }
  platform::TestFolder folder_;
};

TEST_F(ClusterLockTest, IsHeldByOneWhoIsToldToTheOthers) {
  {
    const auto first = Take("lab-10.0.0.1-6817", "gpu", "process 17");
    ASSERT_TRUE(first) << first.error().message;
    const auto second = Take("lab-10.0.0.1-6817", "gpu");
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr("already: process 17; stop it first"));
    EXPECT_TRUE(Take("lab-10.0.0.1-6818", "gpu")) << "another cluster of that name";
  }
  EXPECT_TRUE(Take("lab-10.0.0.1-6817", "gpu")) << "the first one is gone";
}

TEST_F(ClusterLockTest, PartitionsAreApartAndAllOfThemAreNot) {
  auto gpu = Take("lab", "gpu", "one"), big = Take("lab", "../big", "two");
  ASSERT_TRUE(gpu);
  ASSERT_TRUE(big) << big.error().message;
  EXPECT_FALSE(Take("lab", ""));
  *gpu = {};
  *big = {};
  const auto all = Take("lab", "", "all");
  ASSERT_TRUE(all) << all.error().message;
  const auto refused = Take("lab", "gpu");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("already: all;"));
}

TEST_F(ClusterLockTest, TheMachineIsNamedWhereItsLocksAre) {
  ASSERT_TRUE(Take("lab", "gpu"));
  const auto here = [&](const char* folder) {
    return ClaimHere("gpu", "head", "s1", folder_.Path(folder));
  };
  const engine::SlurmClaim first = here("run"), second = here("run");
  EXPECT_EQ(first.machine, second.machine);
  EXPECT_EQ(here("absent").machine, "") << "which says nothing of who is gone";
  EXPECT_EQ(first.host, "head");
  EXPECT_EQ(first.store, "s1");
  EXPECT_GT(first.since, 0);
  if (::geteuid() == 0) {
    EXPECT_EQ(first.machine.size(), 16U);
  }
}

class ScriptedConfig final : public engine::SlurmDriver {
 public:
  core::Result<engine::SlurmAnswer> Run(const std::vector<std::string>&, const std::string&,
                                        core::Seconds) override {
    return answer;
  }
  engine::SlurmAnswer answer;
};

TEST(ClusterName, IsThatOfSlurmAndWhereItListens) {
  ScriptedConfig slurm;
  slurm.answer.output =
      "Configuration data as of 2026-11-16T12:00:00\nClusterName             = lab\n"
      "SlurmctldHost[0]        = vm(127.0.0.1)\nSlurmctldPort           = 6817\n";
  EXPECT_EQ(ClusterName(slurm).value(), "lab-vm(127.0.0.1)-6817");
  slurm.answer = {1, "", "Unable to contact slurm controller"};
  ASSERT_FALSE(ClusterName(slurm));
  EXPECT_THAT(ClusterName(slurm).error().message, HasSubstr("Unable to contact"));
}

}  // namespace
}  // namespace sharewell::server
