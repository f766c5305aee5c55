#include "engine/slurm/control/slurm_strangers.h"

#include <gtest/gtest.h>

namespace sharewell::engine {
namespace {

using Holder = SlurmStrangers::Holder;
using Taken = std::map<std::string, StrangersUse>;

SlurmNode Used(const char* name, int cpus, double gib) {
  SlurmNode node;
  node.name = name;
  node.cpus_used = cpus;
  node.memory_used = core::GiB(gib);
  return node;
}

TEST(SlurmStrangers, JobsOfTheQueueThatAreNotOursAreCounted) {
  SlurmStrangers strangers;
  const SlurmNode n1 = Used("n1", 7, 6), n2 = Used("n2", 4, 4);
  strangers.Take({{1, Holder{{"n1"}, 3, core::GiB(2), true}},
                  {2, Holder{{"n1", "n2"}, 8, core::GiB(4), false}}},
                 {&n1, &n2});
  EXPECT_EQ(strangers.Taken(), (Taken{{"n1", {4, core::GiB(4)}}, {"n2", {4, core::GiB(4)}}}));
  strangers.Take({{1, Holder{{"n1"}, 3, core::GiB(2), true}}}, {});
  EXPECT_EQ(strangers.Taken(), Taken()) << "it ended, whatever the nodes said before";
}

TEST(SlurmStrangers, JobsOfOtherPartitionsAreCountedByWhatTheNodesGaveOut) {
  SlurmStrangers strangers;
  const SlurmNode n1 = Used("n1", 10, 16);
  strangers.Take({{1, Holder{{"n1"}, 3, core::GiB(2), true}}}, {&n1});
  EXPECT_EQ(strangers.Taken(), (Taken{{"n1", {7, core::GiB(14)}}}));
  strangers.Take({{1, Holder{{"n1"}, 3, core::GiB(2), true}}}, {});
  EXPECT_EQ(strangers.Taken(), (Taken{{"n1", {7, core::GiB(14)}}})) << "until they are read again";
}

TEST(SlurmStrangers, WhoEndsOrBeginsBetweenTheReadingsIsNoStranger) {
  const SlurmNode n1 = Used("n1", 3, 2);
  const std::map<std::int64_t, Holder> ours{{1, Holder{{"n1"}, 3, core::GiB(2), true}}};
  SlurmStrangers ends;
  ends.Take(ours, {});
  ends.Take({}, {&n1});
  EXPECT_EQ(ends.Taken(), Taken());
  SlurmStrangers begins;
  begins.Take({}, {});
  begins.Take(ours, {&n1});
  EXPECT_EQ(begins.Taken(), Taken());
}

TEST(SlurmStrangers, MemoryCountsWhereSlurmGivesItOut) {
  SlurmStrangers strangers;
  const SlurmNode n1 = Used("n1", 4, 0);
  strangers.Take({{2, Holder{{"n1"}, 4, core::GiB(4), false}}}, {&n1});
  EXPECT_EQ(strangers.Taken(), (Taken{{"n1", {4, core::Bytes(0)}}}));
}

}  // namespace
}  // namespace sharewell::engine
