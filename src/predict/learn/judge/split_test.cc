#include "predict/learn/judge/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "predict/learn/sample.h"

namespace sharewell::predict::learn {
namespace {

// Train and test together are all rows, each once, ascending.
void ExpectWhole(const Split& split, std::size_t rows) {
  EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
  EXPECT_TRUE(std::is_sorted(split.test.begin(), split.test.end()));
  std::set<std::size_t> all(split.train.begin(), split.train.end());
  all.insert(split.test.begin(), split.test.end());
  EXPECT_EQ(all.size(), rows);
  EXPECT_EQ(split.train.size() + split.test.size(), rows);
  EXPECT_FALSE(split.train.empty());
  EXPECT_FALSE(split.test.empty());
}

void ExpectEachHeldOutOnce(const std::vector<Split>& folds, std::size_t rows) {
  std::multiset<std::size_t> held_out;
  for (const Split& fold : folds) {
    ExpectWhole(fold, rows);
    held_out.insert(fold.test.begin(), fold.test.end());
  }
  EXPECT_EQ(held_out.size(), rows);
  EXPECT_EQ(std::set<std::size_t>(held_out.begin(), held_out.end()).size(), rows);
}

TEST(Sample, EverySubsetIsEquallyLikely) {
  std::map<std::vector<std::size_t>, int> seen;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++seen[Sample(4, 2, seed)];
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [subset, times] : seen) EXPECT_NEAR(times, 1000, 130);  // 4.5 deviations
}

TEST(Sample, IsAllWhereAllAreWanted) {
  EXPECT_EQ(Sample(3, 7, 1), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(ShuffledSplit, HoldsOutTheShareAskedFor) {
  const Split split = ShuffledSplit(100, 0.2, 1);
  ExpectWhole(split, 100);
  EXPECT_EQ(split.test.size(), 20u);
  EXPECT_EQ(split, ShuffledSplit(100, 0.2, 1));
  EXPECT_NE(split, ShuffledSplit(100, 0.2, 2));
  ExpectWhole(ShuffledSplit(2, 0.99, 1), 2);
  ExpectWhole(ShuffledSplit(2, 0.01, 1), 2);
}

TEST(RandomFolds, HoldEachRowOutOnceInEqualParts) {
  const auto folds = RandomFolds(23, 5, 1);
  ExpectEachHeldOutOnce(folds, 23);
  for (const Split& fold : folds) {
    EXPECT_GE(fold.test.size(), 4u);
    EXPECT_LE(fold.test.size(), 5u);
  }
  EXPECT_NE(folds, RandomFolds(23, 5, 2));
  EXPECT_EQ(RandomFolds(3, 5, 1).size(), 3u);
}

TEST(GroupFolds, NeverSplitAGroup) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::string> groups;
    for (std::uint64_t i = 0; i < 60; ++i) {
      groups.push_back(std::to_string(core::HashOf({seed, i}) % 9));
    }
    const auto folds = GroupFolds(groups, 4);
    ExpectEachHeldOutOnce(folds, 60);
    for (const Split& fold : folds) {
      std::set<std::string> train;
      for (std::size_t row : fold.train) train.insert(groups[row]);
      for (std::size_t row : fold.test) EXPECT_EQ(train.count(groups[row]), 0u);
    }
  }
}

TEST(GroupFolds, BalanceSizesLargestFirst) {
  const std::vector<std::string> groups{"a", "b", "b", "c", "c", "c", "d", "d"};
  const auto folds = GroupFolds(groups, 2);
  ASSERT_EQ(folds.size(), 2u);
  EXPECT_EQ(folds[0].test, (std::vector<std::size_t>{0, 3, 4, 5}));  // c, then a
  EXPECT_EQ(folds[1].test, (std::vector<std::size_t>{1, 2, 6, 7}));  // b, d
  EXPECT_EQ(GroupFolds(groups, 9).size(), 4u);
}

TEST(LeaveOneGroupOut, IsOneFoldAGroupByName) {
  const auto folds = LeaveOneGroupOut(std::vector<std::string>{"b", "a", "b"});
  ASSERT_EQ(folds.size(), 2u);
  EXPECT_EQ(folds[0].test, (std::vector<std::size_t>{1}));
  EXPECT_EQ(folds[1].test, (std::vector<std::size_t>{0, 2}));
}

}  // namespace
}  // namespace sharewell::predict::learn
