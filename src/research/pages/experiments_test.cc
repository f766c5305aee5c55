#include "research/pages/experiments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/text/table.h"

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;

Experiment Example(const std::string& note) {
  return {
      "yeung",
      "co-location",
      {"jobs are alike"},
      {{"utilisation", 0.696, 0.7012, "ratio", note}, {"makespan", std::nullopt, 725, "s", ""}}};
}

TEST(ExperimentsTable, StandsSideBySide) {
  EXPECT_EQ(ExperimentsTable({Example("")}),
            "yeung: co-location\n\n"
            "what           paper     ours\n"
            "───────────  ───────  ───────\n"
            "utilisation  69.60 %  70.12 %\n"
            "makespan           -  12m 05s\n\n"
            "assumed: jobs are alike\n");
}

TEST(ExperimentsTable, EndsWithOneLineAPaper) {
  Experiment first = Example(""), second = Example("");
  using State = PaperItemState;
  first.items = {{"Table 1", "", State::kShown, "", ""},
                 {"Table 2", "", State::kShown, "", ""},
                 {"Figure 1", "", State::kNot, "", ""},
                 {"in the text", "", State::kPartly, "", ""}};
  second.name = "coda";
  second.items = {{"Figure 3", "", State::kNoFigures, "", ""}};
  EXPECT_THAT(
      ExperimentsTable({first, second}),
      ::testing::EndsWith(
          "yeung                   3      2        0               1          0            2\n"
          "coda                    1      0        0               0          1            2\n"
          "\n"
          "all                     4      2        0               1          1            4\n"))
      << "what is neither a table nor a figure does not count";
}

TEST(ExperimentsTable, WrapsLongNotes) {
  std::string note;
  for (int i = 0; i < 30; ++i) note += "word ";
  const std::string text = ExperimentsTable({Example(note)}, 80);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(report::DisplayWidth(std::string_view(text).substr(at, end - at)), 80U);
    at = end + 1;
  }
}

TEST(ExperimentsJson, KeepsNumbersAndNulls) {
  const auto json = nlohmann::json::parse(ExperimentsJson({Example("n")}));
  EXPECT_EQ(json["experiments"][0]["rows"][0]["ours"], 0.7012);
  EXPECT_TRUE(json["experiments"][0]["rows"][1]["paper"].is_null());
  EXPECT_EQ(json["experiments"][0]["rows"][0]["note"], "n");
}

}  // namespace
}  // namespace sharewell::research
