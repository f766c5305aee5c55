#include "platform/files/embedded.h"

#include <gtest/gtest.h>

#include "platform/files/test_folder.h"

namespace sharewell::platform {
namespace {

TEST(Embedded, IsByteForByteWhatLiesInData) {
  EXPECT_EQ(EmbeddedGpus(), TestFolder::Read("data/gpus.csv"));
  EXPECT_EQ(EmbeddedH200Cores(), TestFolder::Read("data/h200/cores.csv"));
  EXPECT_EQ(EmbeddedH200Inception(), TestFolder::Read("data/h200/inception.csv"));
  EXPECT_EQ(EmbeddedH200Kernels(), TestFolder::Read("data/h200/kernels.csv"));
  EXPECT_EQ(EmbeddedH200Packing(), TestFolder::Read("data/h200/packing.csv"));
  EXPECT_EQ(EmbeddedH200Profiles(), TestFolder::Read("data/h200/profiles.csv"));
  EXPECT_EQ(EmbeddedH200Profiles2(), TestFolder::Read("data/h200/profiles-2.csv"));
  EXPECT_EQ(EmbeddedH200Profiles3(), TestFolder::Read("data/h200/profiles-3.csv"));
  EXPECT_EQ(EmbeddedH200Profiles4(), TestFolder::Read("data/h200/profiles-4.csv"));
  EXPECT_EQ(EmbeddedH200Profiles5(), TestFolder::Read("data/h200/profiles-5.csv"));
  EXPECT_EQ(EmbeddedH200Profiles9(), TestFolder::Read("data/h200/profiles-9.csv"));
  EXPECT_EQ(EmbeddedH200Pairs(), TestFolder::Read("data/h200/pairs.csv"));
  EXPECT_EQ(EmbeddedH200Pairs2(), TestFolder::Read("data/h200/pairs-2.csv"));
  EXPECT_EQ(EmbeddedH200Triples(), TestFolder::Read("data/h200/triples.csv"));
  EXPECT_EQ(EmbeddedH200Shares(), TestFolder::Read("data/h200/shares.csv"));
  EXPECT_EQ(EmbeddedH200Groups(), TestFolder::Read("data/h200/groups.csv"));
  EXPECT_EQ(EmbeddedH200Groups2(), TestFolder::Read("data/h200/groups-2.csv"));
  EXPECT_EQ(EmbeddedReproducePage(), TestFolder::Read("data/papers/reproduce.md.in"));
  EXPECT_EQ(EmbeddedSlurmLua(), TestFolder::Read("packaging/slurm/job_submit.lua"));
  EXPECT_EQ(EmbeddedSlurmCliFilter(), TestFolder::Read("packaging/slurm/cli_filter.lua"));
  EXPECT_EQ(EmbeddedSlurmProlog(), TestFolder::Read("packaging/slurm/prolog.sh"));
  EXPECT_EQ(EmbeddedSlurmEpilog(), TestFolder::Read("packaging/slurm/epilog.sh"));
  EXPECT_EQ(EmbeddedSlurmTaskProlog(), TestFolder::Read("packaging/slurm/task_prolog.sh"));
  EXPECT_EQ(EmbeddedSlurmWatchdog(), TestFolder::Read("packaging/slurm/watchdog.sh"));
  EXPECT_GT(EmbeddedGpus().size(), 1000U);
}

}  // namespace
}  // namespace sharewell::platform
