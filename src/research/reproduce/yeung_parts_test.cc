#include "research/reproduce/yeung_parts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "research/reproduce/reproduce.h"

namespace sharewell::research {
namespace {

double OursOf(const Experiment& experiment, const std::string& what) {
  for (const ReproduceRow& row : experiment.rows) {
    if (row.what == what && row.ours) return *row.ours;
  }
  ADD_FAILURE() << "no row " << what;
  return 1e9;
}

// The bar: 12 jobs on 4 GPUs, proven; one seed of twenty.
TEST(YeungOptimum, PoliciesAreJudgedByTheirDistanceFromAProvenOptimum) {
  ReproduceOptions options;
  options.seeds = 1;
  options.part = "optimum";
  const auto made = Reproduce("yeung", options);
  ASSERT_TRUE(made) << made.error().message;
  for (const std::string kind : {"", "_unknown_speeds", "_paper_durations"}) {
    EXPECT_GE(OursOf(*made, "over_bound_without_pauses" + kind), -1e-6);
    for (const std::string policy : {"slot", "pack", "sharewell"}) {
      EXPECT_GE(OursOf(*made, "over_bound_" + policy + kind), -1e-6) << policy;
    }
    EXPECT_GE(OursOf(*made, "over_bound_slot" + kind),
              OursOf(*made, "over_bound_without_sharing" + kind) - 1e-9);
  }
}

TEST(Yeung, HasNoOtherParts) {
  ReproduceOptions options;
  options.part = "optimal";
  EXPECT_NE(Reproduce("yeung", options).error().message.find("predictor and optimum"),
            std::string::npos);
  options.part = "optimum";
  EXPECT_NE(Reproduce("coda", options).error().message.find("yeung alone"), std::string::npos);
}

TEST(Yeung, HasThePapersTableAndFigures) {
  ReproduceOptions options;
  options.seeds = 1;
  const auto made = Reproduce("yeung", options);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->grids.size(), 1U);
  const PaperGrid& table = made->grids[0];
  EXPECT_EQ(table.id, "Table 4");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"", "slot", "reactive", "pack", "sharewell"}));
  EXPECT_EQ(table.rows[0][3], "69.6 %");
  EXPECT_EQ(table.rows[1][4], fmt::format("{:.1f} %", 100 * OursOf(*made, "busy_sharewell")));
  EXPECT_GT(OursOf(*made, "figure_2b_flops_utilisation"), 0.2);
  EXPECT_GT(OursOf(*made, "figure_5a_utilisation_slowdown"), 0.2);
  EXPECT_GT(OursOf(*made, "figure_5a_slowdown_mean_above_150"),
            OursOf(*made, "figure_5a_slowdown_mean_up_to_100"));
}

}  // namespace
}  // namespace sharewell::research
