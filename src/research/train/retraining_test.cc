// Acceptance: what a server learns from its first 200 runs, on recorded data of another machine
// (tools/lab/other_machine.py): half the SMs, and a slower host.
#include "research/train/retraining.h"

#include <gmock/gmock.h>

#include <cmath>

#include "advice/prediction.h"
#include "core/numbers/random.h"
#include "research/train/training_rows.h"

namespace sharewell::research {
namespace {

using predict::Figure;

const std::string kData = "data/h200/";

TEST(Retraining, TwoHundredRunsCutTheErrorOnTheNextHundredByAThird) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  const auto shipped = advice::BuiltinModel();
  ASSERT_TRUE(shipped);
  const auto report =
      RetrainModel({{kData + "other-first.csv"}, {kData + "other-next.csv"}}, *shipped, catalogue);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(report->next && report->unseen);
  EXPECT_EQ(report->result.runs + report->result.held_out, 200U);
  EXPECT_EQ(report->next->runs, 100U);
  for (const Figure figure : {Figure::kStepSeconds, Figure::kBusySeconds, Figure::kBusy,
                              Figure::kMemory, Figure::kCores, Figure::kPower}) {
    const std::size_t f = predict::Index(figure);
    EXPECT_LE(*report->next->retrained[f], *report->next->shipped[f] * 2 / 3) << NameOf(figure);
  }
  for (std::size_t f = 0; f < predict::kFigures; ++f) {
    if (!report->next->shipped[f]) continue;
    EXPECT_LE(*report->next->retrained[f], *report->next->shipped[f] * 1.0001)
        << predict::kFigureNames[f];
  }
  // Workloads of which it has not seen a single run.
  const std::size_t step = predict::Index(Figure::kStepSeconds);
  EXPECT_GE(report->unseen->runs, 20U);
  EXPECT_LE(*report->unseen->retrained[step], *report->unseen->shipped[step] * 2 / 3);
}

TEST(Retraining, PoisonedRunsNeverMakeTheNextHundredWorse) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  const auto shipped = advice::BuiltinModel();
  ASSERT_TRUE(shipped);
  const auto first = ReadTrainingSet({kData + "other-first.csv"}, catalogue);
  const auto next = ReadTrainingSet({kData + "other-next.csv"}, catalogue);
  ASSERT_TRUE(first && next);
  for (const double factor : {0.0, 5.0}) {
    auto rows = first->rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t draw = core::HashOf({15, i});
      if (core::Uniform(draw) > 0.33) continue;
      const double by = factor > 0 ? factor : std::exp(4.6 * (core::Uniform(draw ^ 3) - 0.5));
      for (std::size_t f = 0; f < predict::kFigures; ++f) {
        if (rows[i].measured[f]) *rows[i].measured[f] *= by;
        const bool share = predict::IsShare(static_cast<Figure>(f));
        if (share && rows[i].measured[f]) rows[i].measured[f] = std::min(1.0, *rows[i].measured[f]);
      }
    }
    const auto result = predict::Retrain(shipped->predictor, shipped->predictor, rows);
    ASSERT_TRUE(result) << result.error().message;
    const predict::Predictor& used = result->predictor ? *result->predictor : shipped->predictor;
    for (std::size_t f = 0; f < predict::kFigures; ++f) {
      const auto figure = static_cast<Figure>(f);
      const auto before = predict::ErrorOn(shipped->predictor, next->rows, figure);
      const auto after = predict::ErrorOn(used, next->rows, figure);
      if (!before) continue;
      EXPECT_LE(*after, *before * 1.02) << NameOf(figure) << " by " << factor;
    }
  }
}

}  // namespace
}  // namespace sharewell::research
