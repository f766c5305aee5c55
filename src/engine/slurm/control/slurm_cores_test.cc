// What a start's cores come to in Slurm, for jobs of one and of several tasks.
#include "engine/slurm/control/slurm_cores.h"

#include <gmock/gmock.h>

namespace sharewell::engine {
namespace {

using ::testing::HasSubstr;

SlurmJob Asks(int cpus, int tasks = 1, int nodes = 1) {
  SlurmJob job;
  job.cpus = cpus;
  job.tasks = tasks;
  job.nodes_wanted = nodes;
  job.cpus_a_node = cpus / tasks;
  return job;
}

JobNote Given(const SlurmJob& job, double cores) {
  JobNote note;
  note.put = JobNote::Put();
  PutCpus(cores, job, note);
  return note;
}

TEST(SlurmCores, FewerThanAskedWhereItCanUseNoMoreAndNeverMore) {
  EXPECT_EQ(Given(Asks(8), 3).put->cores, 3);
  EXPECT_EQ(Given(Asks(8), 2.2).put->cores, 3) << "whole ones";
  EXPECT_EQ(Given(Asks(2), 6).put->cores, 2) << "they are charged to its user";
  EXPECT_EQ(Given(Asks(8), 0).put->cores, 8) << "nobody decided";
  EXPECT_EQ(Given(Asks(8), 0.1).put->cores, 1);
}

TEST(SlurmCores, EachTaskKeepsAtLeastOne) {
  EXPECT_EQ(Given(Asks(8, 2), 4).put->cores, 4);
  EXPECT_EQ(Given(Asks(8, 2), 3).put->cores, 4);
  EXPECT_EQ(Given(Asks(8, 8), 3).put->cores, 8) << "srun starts as many as were asked for";
}

TEST(SlurmCores, WhatWasAskedForIsKeptInTheNote) {
  const SlurmJob job = Asks(8);
  JobNote note = Given(job, 3);
  EXPECT_EQ(note.ask.cpus, 8);
  EXPECT_EQ(CpusAsked(Asks(3), note.ask), 8) << "the next server sees three, and knows better";
  PutCpus(16, Asks(3), note);
  EXPECT_EQ(note.put->cores, 8);
  EXPECT_EQ(Given(job, 8).ask.cpus, 0) << "nothing was changed";
  SlurmJob by_node = Asks(1);  // sbatch --mincpus=8
  by_node.cpus_a_node = 8;
  EXPECT_EQ(CpusAsked(by_node, {}), 8);
}

TEST(SlurmCores, SlurmHasToBeToldThreeTimes) {
  EXPECT_EQ(CpuFields(Asks(8), {}, 3, 1), " NumCPUs=3 CPUsPerTask=3 MinCPUsNode=3");
  EXPECT_EQ(CpuFields(Asks(16, 4, 2), {}, 8, 2), " NumCPUs=8 CPUsPerTask=2 MinCPUsNode=4");
  EXPECT_EQ(CpuFields(Asks(12, 3, 2), {}, 6, 2), " NumCPUs=6 CPUsPerTask=2 MinCPUsNode=2");
  EXPECT_EQ(CpuFields(Asks(8), {}, 8, 1), "") << "as it was submitted";
  JobNote::Ask changed;
  changed.cpus = 8;
  EXPECT_EQ(CpuFields(Asks(3), changed, 8, 1), " NumCPUs=8 CPUsPerTask=8 MinCPUsNode=8")
      << "back to what was asked for";
}

TEST(SlurmCores, FewerCoresAreNotLessMemory) {
  SlurmJob job = Asks(8);
  job.memory = core::Bytes(4000.0 * (1 << 20));
  EXPECT_EQ(CpuFields(job, {}, 3, 1), " NumCPUs=3 CPUsPerTask=3 MinCPUsNode=3");
  job.memory_by_cpu = true;
  EXPECT_THAT(CpuFields(job, {}, 3, 1), HasSubstr("MinMemoryNode=4000 "));
  // An update that was cut short: three CPUs, and so of the memory that goes by CPU.
  SlurmJob half = Asks(3);
  half.memory = core::Bytes(1500.0 * (1 << 20));
  half.memory_by_cpu = true;
  JobNote::Ask ask;
  ask.cpus = 8;
  EXPECT_THAT(CpuFields(half, ask, 3, 1), HasSubstr("MinMemoryNode=4000 "));
}

TEST(SlurmCores, ItIsSaidWhereTheyAreNotAsAsked) {
  EXPECT_EQ(CpusInWords(Given(Asks(8), 8), 8), "");
  EXPECT_THAT(CpusInWords(Given(Asks(8), 3), 3), HasSubstr("3 of the 8 cores"));
  EXPECT_THAT(CpusInWords(Given(Asks(8), 3), 4), HasSubstr("4 cores where 3 would do"));
}

}  // namespace
}  // namespace sharewell::engine
