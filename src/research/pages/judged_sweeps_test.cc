#include "research/pages/judged_sweeps.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(JudgedSweeps, TextCountsWhatWasFound) {
  JudgedSweep sweep;
  sweep.workload = "net";
  sweep.from = "data/cores.csv";
  sweep.cells = 5;
  sweep.best = sweep.curve = {"H200", "bf16", 64, 8, 8};
  sweep.foretold = {"H200", "bf16", 64, 4, 4};
  sweep.curve_share = 1;
  sweep.foretold_share = 0.9;
  sweep.average_share = 0.7;
  sweep.most_share = 0.96;
  sweep.most_cores = 16;
  sweep.in_bounds = 4;
  const std::string text = JudgedSweepsText({sweep});
  EXPECT_THAT(text, ::testing::ContainsRegex("net +cores\\.csv +5 +bf16 64 w8 c8"));
  std::string words = text;
  std::replace(words.begin(), words.end(), '\n', ' ');
  EXPECT_THAT(words, HasSubstr("in 1 of 1 sweeps from their own cells, in 0 predicted; the most of "
                               "everything in 1, a cell by chance in 0."));
  EXPECT_THAT(words, HasSubstr("50.0 % and 25.0 % of the most cores"));
  EXPECT_THAT(text, Not(HasSubstr("energy: within")));
  EXPECT_THAT(text, HasSubstr("within the predicted bounds in 4 of 5 cells (80.0 %)"));
  const auto json = nlohmann::json::parse(JudgedSweepsJson({sweep}));
  EXPECT_EQ(json["sweeps"][0]["predicted_share"], 0.9);
  EXPECT_TRUE(json["sweeps"][0]["sitting"].is_null());
}

}  // namespace
}  // namespace sharewell::research
