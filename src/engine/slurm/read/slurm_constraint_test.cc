#include "engine/slurm/read/slurm_constraint.h"

#include <gtest/gtest.h>

namespace sharewell::engine {
namespace {

bool Allows(const char* text, const std::vector<std::string>& features, int nodes = 1,
            std::size_t way = 0) {
  const auto read = SlurmConstraint::Parse(text, nodes);
  return read && way < read->ways() && read->Allows(features, way);
}

TEST(SlurmConstraint, BothAndEither) {
  EXPECT_TRUE(Allows("nvlink", {"V100", "nvlink"}));
  EXPECT_FALSE(Allows("nvlink", {"V100"}));
  EXPECT_FALSE(Allows("nvlink&ib", {"nvlink"}));
  EXPECT_TRUE(Allows("nvlink,ib", {"ib", "nvlink"})) << "a comma is an and";
  EXPECT_TRUE(Allows("nvlink|ib", {"ib"}));
  EXPECT_FALSE(Allows("nvlink|ib", {}));
}

TEST(SlurmConstraint, FromLeftToRightAndInGroups) {
  EXPECT_FALSE(Allows("a|b&c", {"a"})) << "Slurm reads (a|b)&c";
  EXPECT_TRUE(Allows("a|(b&c)", {"a"}));
  EXPECT_TRUE(Allows("(a|b)&(c|d)", {"b", "d"}));
  EXPECT_FALSE(Allows("(a|b)&(c|d)", {"a", "b"}));
}

TEST(SlurmConstraint, AllNodesOfAJobHaveTheSameOneOfABracket) {
  EXPECT_TRUE(Allows("[rack1|rack2]", {"rack2"})) << "of one node either will do";
  const auto read = SlurmConstraint::Parse("[rack1|rack2]&fast", 2);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ways(), 2U);
  EXPECT_TRUE(read->Allows({"rack1", "fast"}, 0));
  EXPECT_FALSE(read->Allows({"rack1", "fast"}, 1));
  EXPECT_FALSE(read->Allows({"rack1"}, 0));
}

TEST(SlurmConstraint, ANumberOfNodesSaysSomethingOfEachWhereItIsAllOfThem) {
  EXPECT_FALSE(Allows("a*2", {"b"}, 2));
  EXPECT_TRUE(Allows("a*1&b", {"b"}, 2)) << "which of the two has a is Slurm's to choose";
  EXPECT_TRUE(Allows("[a*1&b*1]", {"c"}, 2));
  EXPECT_TRUE(Allows("[(a&b)*1&c*1]", {"c"}, 2));
}

TEST(SlurmConstraint, WhatCannotBeReadIsLeftToSlurm) {
  for (const char* text : {"", "(null)", "a&", "&a", "a|", "(a", "a)", "[a|b", "a*", "a*x", "a b*",
                           "a**2", "()", "a(b)"}) {
    EXPECT_FALSE(SlurmConstraint::Parse(text, 1).has_value()) << text;
  }
  EXPECT_FALSE(SlurmConstraint::Parse(std::string(100, '(') + "a", 1).has_value());
  EXPECT_FALSE(SlurmConstraint::Parse(std::string(100'000, 'a'), 1).has_value());
}

}  // namespace
}  // namespace sharewell::engine
