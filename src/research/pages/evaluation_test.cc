#include "research/pages/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/text/table.h"
#include "research/pages/timm.h"

namespace sharewell::research {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Evaluation Example() {
  Evaluation out;
  out.folds = 2;
  out.families = 2;
  out.gpus = 1;
  out.without_graph = 3;
  out.rows = {{"tv:a,b", "bf16", "H200", "resnet", 32, 4}, {"<gpt>", "fp32", "H200", "gpt", 8, 0}};
  LearnerErrors mean{"mean", {}};
  FigureErrors busy;
  busy.figure = "busy";
  busy.rows = 2;
  busy.rmsle = 0.1537;
  busy.mae = 4.5;
  FigureErrors memory;
  memory.figure = "gpu_memory";
  memory.rows = 2;
  memory.mape = 0.056;
  memory.median_ape = 0.04;
  memory.interval_coverage = 0.9;
  memory.p95_coverage = 0.954;
  memory.over_reservation = 0.132;
  mean.figures = {busy, memory};
  out.learners = {mean};
  out.values = {{0, 0, 0, "busy", 0.5, {0.25, 0.125, 0.75}},
                {0, 1, 1, "busy", 1, core::Interval<>::Unbounded(0.5)}};
  out.importance = {{"busy_seconds", {{"macs", 0.75}, {"params", 0.25}}}};
  return out;
}

TEST(EvaluationTable, FitsAScreenAndSaysWhatItMeans) {
  const std::string text = EvaluationTable(Example());
  EXPECT_THAT(
      text,
      StartsWith(
          "2 workloads of 2 families on 1 GPU model; whole families held out, in 2 folds\n"
          "3 more name no graph and are left out\n"
          "\n"
          "learner  utilisation  step time  busy time  memory  below p95  set aside  cores  power\n"
          "───────  ───────────  ─────────  ─────────  ──────  ─────────  ─────────  ─────  ─────\n"
          "mean           0.154          -          -   5.6 %     95.4 %     13.2 %      -      -\n"
          "\n"));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(report::DisplayWidth(std::string_view(text).substr(at, end - at)), 100U);
    at = end + 1;
  }
}

TEST(EvaluationTable, SaysWhereRowsWereMerged) {
  Evaluation evaluation = Example();
  evaluation.measured = 5;
  EXPECT_THAT(EvaluationTable(evaluation),
              HasSubstr("in 2 folds\n5 rows in all; a workload that has several counts once, with "
                        "their medians\n3 more name"));
}

TEST(EvaluationJson, IsThisDocument) {
  EXPECT_EQ(EvaluationJson(Example(), {"p.csv"}), R"({
  "schema": 1,
  "profiles": [
    "p.csv"
  ],
  "split": "family",
  "folds": 2,
  "search": false,
  "rows": 2,
  "rows_measured": 2,
  "rows_without_graph": 3,
  "families": 2,
  "gpu_models": 1,
  "learners": [
    {
      "name": "mean",
      "figures": {
        "busy": {
          "rows": 2,
          "rmsle": 0.1537,
          "mean_absolute_percent_points": 4.5,
          "mape": null,
          "median_ape": null,
          "interval_coverage": null,
          "p95_coverage": null,
          "over_reservation": null
        },
        "gpu_memory": {
          "rows": 2,
          "rmsle": null,
          "mean_absolute_percent_points": null,
          "mape": 0.056,
          "median_ape": 0.04,
          "interval_coverage": 0.9,
          "p95_coverage": 0.954,
          "over_reservation": 0.132
        }
      }
    }
  ],
  "importance": {
    "busy_seconds": [
      {
        "feature": "macs",
        "share": 0.75
      },
      {
        "feature": "params",
        "share": 0.25
      }
    ]
  }
}
)");
}

TEST(PredictionsCsv, HasARowAPrediction) {
  EXPECT_EQ(PredictionsCsv(Example()),
            "learner,fold,row,workload,batch,precision,workers,gpu,family,figure,actual,predicted,"
            "p05,p95\n"
            "mean,1,1,\"tv:a,b\",32,bf16,4,H200,resnet,busy,0.5,0.25,0.125,0.75\n"
            "mean,2,2,<gpt>,8,fp32,0,H200,gpt,busy,1,0.5,,\n");
}

TEST(Charts, NameWorkloadsAndFeatures) {
  const std::string points = UtilisationSvg(Example());
  EXPECT_THAT(points, HasSubstr("&lt;gpt&gt; (gpt), batch 8, fp32, 0 workers: measured 100 %"));
  EXPECT_THAT(points, HasSubstr("RMSLE 0.154"));
  EXPECT_THAT(ImportanceSvg(Example()), HasSubstr(">75.0 %</text>"));
  EXPECT_EQ(ImportanceSvg({}), "");
  EXPECT_THAT(UtilisationSvg({}), HasSubstr("</svg>"));
}

TEST(Timm, SaysBothErrors) {
  const TimmErrors errors{799, 116, 0.157, 0.123, {0.12, 0.126}};
  EXPECT_THAT(TimmText(errors), HasSubstr("with what was learnt      12.3 %\n"));
  const auto json = nlohmann::json::parse(TimmJson(errors));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["timm"]["mape"], 0.123);
}

}  // namespace
}  // namespace sharewell::research
