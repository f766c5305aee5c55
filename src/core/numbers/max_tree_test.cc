#include "core/numbers/max_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "testing/random_case.h"

namespace sharewell::core {
namespace {

constexpr double kLow = -std::numeric_limits<double>::infinity();

std::vector<std::size_t> LargestByLooking(const std::vector<double>& row, std::size_t count) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] != kLow) all.push_back(i);
  }
  std::stable_sort(all.begin(), all.end(),
                   [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
  all.resize(std::min(all.size(), count));
  return all;
}

std::size_t FirstByLooking(const std::vector<double>& row, double x, std::size_t from) {
  for (std::size_t i = from; i < row.size(); ++i) {
    if (row[i] >= x) return i;
  }
  return MaxTree::kNone;
}

TEST(MaxTree, EmptyHasNothing) {
  const MaxTree none;
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.max(), kLow);
  EXPECT_EQ(none.First(0), MaxTree::kNone);
  EXPECT_TRUE(none.Largest(3).empty());
  EXPECT_EQ(MaxTree(0).First(kLow), MaxTree::kNone);
}

TEST(MaxTree, OneIsFoundOrNot) {
  MaxTree tree(1, 3);
  EXPECT_EQ(tree.First(3), 0U);
  EXPECT_EQ(tree.First(3.1), MaxTree::kNone);
  EXPECT_EQ(tree.First(3, 1), MaxTree::kNone);
  tree.Set(0, 5);
  EXPECT_EQ(tree.First(4), 0U);
}

TEST(MaxTree, BeyondTheLastIsNoPlaceEvenForTheLowest) {
  const MaxTree tree(5, 1);  // three leaves stand empty
  EXPECT_EQ(tree.First(kLow, 4), 4U);
  EXPECT_EQ(tree.First(kLow, 5), MaxTree::kNone);
  EXPECT_EQ(tree.First(2), MaxTree::kNone);
}

TEST(MaxTree, AgreesWithLookingAtEverything) {
  fixtures::Dice dice(1);
  for (int n : {1, 2, 3, 7, 8, 9, 33, 100}) {
    const auto size = static_cast<std::size_t>(n);
    MaxTree tree(size);
    std::vector<double> row(size, kLow);
    for (int step = 0; step < 2000; ++step) {
      const auto i = static_cast<std::size_t>(dice.Between(0, n - 1));
      // Few values, so that ties are common; now and then closed again.
      row[i] = dice.Chance(0.2) ? kLow : dice.Between(0, 5);
      tree.Set(i, row[i]);
      const double x = dice.Between(-1, 6);
      const auto from = static_cast<std::size_t>(dice.Between(0, n));
      ASSERT_EQ(tree.First(x, from), FirstByLooking(row, x, from));
      const auto count = static_cast<std::size_t>(dice.Between(0, 20));
      ASSERT_EQ(tree.Largest(count), LargestByLooking(row, count));
      ASSERT_EQ(tree.max(), *std::max_element(row.begin(), row.end()));
      ASSERT_EQ(tree[i], row[i]);
    }
  }
}

}  // namespace
}  // namespace sharewell::core
