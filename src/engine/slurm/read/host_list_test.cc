#include <gmock/gmock.h>

#include "engine/slurm/read/slurm_read.h"

namespace sharewell::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SlurmHosts, NamesAndRangesAreExpandedInTheirOrder) {
  EXPECT_THAT(*ExpandHosts("n[1-3,7],m01"), ElementsAre("n1", "n2", "n3", "n7", "m01"));
  EXPECT_THAT(*ExpandHosts("gpu-a.example.org"), ElementsAre("gpu-a.example.org"));
}

TEST(SlurmHosts, LeadingZerosAreKept) {
  EXPECT_THAT(*ExpandHosts("n[08-11]"), ElementsAre("n08", "n09", "n10", "n11"));
  EXPECT_THAT(*ExpandHosts("n[001]x"), ElementsAre("n001x"));
}

TEST(SlurmHosts, SeveralRangesInOneNameMultiply) {
  EXPECT_THAT(*ExpandHosts("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
}

TEST(SlurmHosts, NoHostsAreAnEmptyList) {
  for (const char* none : {"", "(null)", "None assigned"}) {
    EXPECT_THAT(*ExpandHosts(none), IsEmpty()) << none;
  }
}

TEST(SlurmHosts, WhatIsNoListIsRefused) {
  for (const char* bad : {"n[1-", "n1]", "n[]", "n[3-1]", "n[a-b]", "n[1--2]", "n 1", "n1\nn2",
                          "n[99999999999]", "n[1][1][1][1][1]", "a|b", "x=1", "[-1]"}) {
    const auto hosts = ExpandHosts(bad);
    ASSERT_FALSE(hosts) << bad;
    EXPECT_THAT(hosts.error().message, HasSubstr("the list of hosts")) << bad;
  }
}

TEST(SlurmHosts, ABombIsRefusedBeforeItIsExpanded) {
  EXPECT_EQ(ExpandHosts("n[1-65536]")->size(), 65536u);
  for (const char* bomb : {"n[1-65537]", "n[1-999999999]", "n[1-60000]m[1-60000]",
                           "n[1-60000],m[1-60000]", "a[1-9]b[1-999]c[1-999]d[1-999]"}) {
    const auto hosts = ExpandHosts(bomb);
    ASSERT_FALSE(hosts) << bomb;
    EXPECT_THAT(hosts.error().message, HasSubstr("more than 65536")) << bomb;
  }
  EXPECT_FALSE(ExpandHosts("a,b,c", 2));
}

TEST(SlurmTasks, RangesStepsAndTheLimitAreUnderstood) {
  EXPECT_THAT(*ExpandTasks("0-3%2"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(*ExpandTasks("0-2,4-5,9"), ElementsAre(0, 1, 2, 4, 5, 9));
  EXPECT_THAT(*ExpandTasks("1-7:3"), ElementsAre(1, 4, 7));
  EXPECT_THAT(*ExpandTasks(""), IsEmpty());
}

TEST(SlurmTasks, WhatCannotBeReadAsAWholeIsRefused) {
  // Slurm cuts long lists with dots, unless it is told not to.
  for (const char* bad : {"0-3,...", "3-1", "0-9:0", "a", "0-3%", "0-3%x", "1,1", "-1",
                          "0-4000000000", "1-9999999999999999999"}) {
    EXPECT_FALSE(ExpandTasks(bad)) << bad;
  }
}

}  // namespace
}  // namespace sharewell::engine
