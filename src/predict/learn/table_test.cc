#include "predict/learn/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

using testing::HasSubstr;

TEST(Table, GivesRowsAsTheyWereAdded) {
  Table table = Named(2);
  table.Add(std::vector{1.0, 2.0}, 3, "a");
  table.Add(std::vector{4.0, kUnknownValue}, 5, "b");
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.Row(1)[0], 4);
  EXPECT_EQ(table.Weight(1), 1);
  EXPECT_TRUE(table.Check());
}

TEST(Table, ASubsetKeepsTheOrderAskedForAndMayRepeat) {
  Table table = Line(4, [](double x) { return 10 * x; });
  table.weights = {1, 2, 3, 4};
  const Table subset = table.Subset(std::vector<std::size_t>{3, 0, 3});
  EXPECT_EQ(subset.targets, (std::vector<double>{30, 0, 30}));
  EXPECT_EQ(subset.values, (std::vector<double>{3, 0, 3}));
  EXPECT_EQ(subset.weights, (std::vector<double>{4, 1, 4}));
}

TEST(Table, NamesTheFirstRowNoLearnerCouldUse) {
  const auto message = [](const auto& change) {
    Table table = Line(3, [](double x) { return x; });
    change(table);
    const auto checked = table.Check();
    return checked ? std::string("nothing is wrong") : checked.error().message;
  };
  EXPECT_THAT(message([](Table& t) { t.targets[1] = kUnknownValue; }), HasSubstr("row 2: the tar"));
  EXPECT_THAT(message([](Table& t) { t.values[2] = std::numeric_limits<double>::infinity(); }),
              HasSubstr("row 3: feature f0 is infinite"));
  EXPECT_THAT(message([](Table& t) { t.weights = {1, 1, 0}; }), HasSubstr("row 3: weight 0"));
  EXPECT_THAT(message([](Table& t) { t.weights = {1}; }), HasSubstr("3 rows have 1 weights"));
  EXPECT_THAT(message([](Table& t) { t.groups = {"a"}; }), HasSubstr("3 rows have 1 groups"));
  EXPECT_THAT(message([](Table& t) { t.values.pop_back(); }), HasSubstr("need 3 values"));
  EXPECT_THAT(message([](Table& t) { t = Named(1); }), HasSubstr("no rows"));
  EXPECT_THAT(message([](Table& t) { t.values.clear(), t.features.clear(); }),
              HasSubstr("no features"));
}

}  // namespace
}  // namespace sharewell::predict::learn
