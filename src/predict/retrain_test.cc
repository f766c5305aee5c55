#include "predict/retrain.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "core/numbers/random.h"
#include "predict/test_world.h"
#include "predict/trained.h"

namespace sharewell::predict {
namespace {

using ::testing::HasSubstr;
using Verdict = FigureJudgement::Verdict;

constexpr Figure kJudged[] = {Figure::kStepSeconds, Figure::kBusySeconds, Figure::kMemory,
                              Figure::kPower};

// The machine that the shipped predictor knows.
const TestWorld& Home() {
  static const TestWorld world;
  return world;
}
const Predictor& ShippedOne() {
  static const Predictor predictor = [] {
    auto trained = Train(Home().rows, {});
    EXPECT_TRUE(trained) << trained.error().message;
    return *std::move(trained);
  }();
  return predictor;
}

// Runs of the world's workloads, each with a little noise. A machine that is `slower` has all of
// its times so much longer.
std::vector<Row> RunsOf(std::size_t count, double slower, std::uint64_t seed) {
  std::vector<Row> runs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t draw = core::HashOf({seed, i});
    Row row = Home().rows[core::Mix(draw) % Home().rows.size()];
    row.precision_word += fmt::format(" {}", core::Mix(draw ^ 7) % 2);  // 48 workloads
    for (std::size_t f = 0; f < kFigures; ++f) {
      const auto figure = static_cast<Figure>(f);
      if (!row.measured[f]) continue;
      const bool time = figure == Figure::kStepSeconds || figure == Figure::kBusySeconds;
      *row.measured[f] *= (time ? slower : 1) * std::exp(0.03 * core::Normal(draw + f));
      if (IsShare(figure)) row.measured[f] = std::min(1.0, *row.measured[f]);
    }
    runs.push_back(std::move(row));
  }
  return runs;
}

Retrained Retrain(const Predictor& in_use, std::span<const Row> runs) {
  auto result = predict::Retrain(ShippedOne(), in_use, runs);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : Retrained{};
}

const Predictor& UsedAfter(const Retrained& result, const Predictor& before) {
  return result.predictor ? *result.predictor : before;
}

TEST(Retrain, WhatAnotherMachineErrsByIsLearnt) {
  const auto runs = RunsOf(120, 2, 1);
  const Retrained result = Retrain(ShippedOne(), runs);
  EXPECT_EQ(result.runs, 90U);
  EXPECT_EQ(result.held_out, 30U);
  EXPECT_LE(result.workloads, 48U) << "one counts once however often it ran";
  EXPECT_EQ(result[Figure::kStepSeconds].verdict, Verdict::kTaken);
  ASSERT_TRUE(result.predictor);
  const auto next = RunsOf(60, 2, 2);
  const double before = *ErrorOn(ShippedOne(), next, Figure::kStepSeconds);
  const double after = *ErrorOn(*result.predictor, next, Figure::kStepSeconds);
  EXPECT_LT(after, before / 3);
}

TEST(Retrain, AFigureThatNobodyMeasuredStaysAsItIs) {
  std::vector<Row> runs = RunsOf(60, 2, 1);
  for (Row& row : runs) row.measured[Index(Figure::kTensor)].reset();
  const Retrained result = Retrain(ShippedOne(), runs);
  EXPECT_EQ(result[Figure::kTensor].verdict, Verdict::kKept);
  EXPECT_EQ(result[Figure::kTensor].why, "too few runs have it");
  EXPECT_EQ(result[Figure::kTensor].shipped, std::nullopt) << "unknown is not zero";
  ASSERT_TRUE(result.predictor);
  EXPECT_FALSE(result.predictor->IsLocal(Figure::kTensor));
  const Query& query = Home().rows[0].query;
  EXPECT_EQ(result.predictor->Predict(query)[Figure::kTensor].median,
            ShippedOne().Predict(query)[Figure::kTensor].median);
}

TEST(Retrain, WhatTheNewestRunsDoNotShowIsRefused) {
  // It was slower for a while, and is not any more.
  std::vector<Row> runs = RunsOf(60, 3, 1);
  const auto newest = RunsOf(20, 1, 2);
  runs.insert(runs.end(), newest.begin(), newest.end());
  const Retrained result = Retrain(ShippedOne(), runs);
  const FigureJudgement& step = result[Figure::kStepSeconds];
  EXPECT_EQ(step.verdict, Verdict::kKept);
  EXPECT_GT(*step.retrained, *step.shipped);
  EXPECT_THAT(step.why, HasSubstr("it would err by"));
}

TEST(Retrain, TheSameRunsGiveTheSameBytes) {
  const auto runs = RunsOf(80, 2, 3);
  const Retrained once = Retrain(ShippedOne(), runs), again = Retrain(ShippedOne(), runs);
  ASSERT_TRUE(once.predictor);
  EXPECT_EQ(Write({*once.predictor, {}}), Write({*again.predictor, {}}));
}

TEST(Retrain, WhatWasLearntSurvivesItsFile) {
  const Retrained result = Retrain(ShippedOne(), RunsOf(80, 2, 3));
  ASSERT_TRUE(result.predictor);
  const auto read = ReadTrained(Write({*result.predictor, {}}));
  ASSERT_TRUE(read) << read.error().message;
  const Query& query = Home().rows[3].query;
  for (const Figure figure : kJudged) {
    EXPECT_EQ(read->predictor.Predict(query)[figure].median,
              result.predictor->Predict(query)[figure].median);
    EXPECT_EQ(read->predictor.Predict(query)[figure].high,
              result.predictor->Predict(query)[figure].high);
  }
}

TEST(Retrain, TooFewRunsAreRefusedWithHowManyItTakes) {
  const auto few = predict::Retrain(ShippedOne(), ShippedOne(), RunsOf(39, 2, 1));
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("39 runs are too few to learn from; at least 40"));
}

TEST(Retrain, AModelThatWasCorrectedIsNotCorrectedTwice) {
  const Retrained once = Retrain(ShippedOne(), RunsOf(80, 2, 3));
  ASSERT_TRUE(once.predictor);
  const auto twice = predict::Retrain(*once.predictor, *once.predictor, RunsOf(80, 2, 3));
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("give the one that it was made from"));
}

TEST(Retrain, ItStopsWhenItIsTold) {
  RetrainOptions options;
  int left = 2;
  options.go_on = [&] { return left-- > 0; };
  EXPECT_FALSE(predict::Retrain(ShippedOne(), ShippedOne(), RunsOf(80, 2, 3), options));
}

TEST(Retrain, AWorkloadThatRanHundredsOfTimesCountsOnce) {
  std::vector<Row> runs = RunsOf(60, 1, 4);
  std::vector<Row> flood(300, runs[0]);
  for (Row& row : flood) *row.measured[Index(Figure::kStepSeconds)] *= 20;
  runs.insert(runs.begin() + 30, flood.begin(), flood.end());
  const Retrained result = Retrain(ShippedOne(), runs);
  const auto next = RunsOf(60, 1, 5);
  EXPECT_LE(*ErrorOn(UsedAfter(result, ShippedOne()), next, Figure::kStepSeconds),
            *ErrorOn(ShippedOne(), next, Figure::kStepSeconds) * 1.02);
}

// Poisoned runs: what they tell is not so. Whatever they are, what is in use afterwards errs no
// more on honest runs than the shipped one does.
struct Poison {
  const char* name;
  double from, to;  // of the runs
  double share;     // of those, that are poisoned
  double factor;    // 0: any, up to ten times up or down
};
class PoisonedRuns : public ::testing::TestWithParam<Poison> {};

TEST_P(PoisonedRuns, NeverMakeItWorse) {
  const Poison& poison = GetParam();
  for (const double slower : {1.0, 1.7}) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      std::vector<Row> runs = RunsOf(120, slower, 100 + seed);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const double at = static_cast<double>(i) / static_cast<double>(runs.size());
        const std::uint64_t draw = core::HashOf({seed, i, 77});
        const bool hit = at >= poison.from && at < poison.to && core::Uniform(draw) < poison.share;
        if (!hit) continue;
        const double factor =
            poison.factor > 0 ? poison.factor : std::exp(4.6 * (core::Uniform(draw ^ 5) - 0.5));
        for (const Figure figure : kJudged) *runs[i].measured[Index(figure)] *= factor;
      }
      const Retrained result = Retrain(ShippedOne(), runs);
      const auto next = RunsOf(60, slower, 200 + seed);
      for (const Figure figure : kJudged) {
        const double before = *ErrorOn(ShippedOne(), next, figure);
        const double after = *ErrorOn(UsedAfter(result, ShippedOne()), next, figure);
        EXPECT_LE(after, before * 1.05 + 0.005)
            << poison.name << ", " << NameOf(figure) << ", seed " << seed << ", slower " << slower;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PoisonedRuns,
                         ::testing::Values(Poison{"a third anyhow", 0, 1, 0.33, 0},
                                           Poison{"a third five times too long", 0, 1, 0.33, 5},
                                           Poison{"a third a little too long", 0, 1, 0.33, 1.4},
                                           Poison{"all that is learnt from", 0, 0.75, 1, 3},
                                           Poison{"all that is judged on", 0.75, 1, 1, 3},
                                           Poison{"most of what is learnt from", 0, 0.75, 0.7, 0}),
                         [](const auto& kind) {
                           std::string name = kind.param.name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST(Retrain, WhatAllRunsAgreedOnIsTakenBackWhenItIsNotSoAnyMore) {
  // Nobody can tell a lie that all runs tell from another machine; but it does not stay.
  const Retrained fooled = Retrain(ShippedOne(), RunsOf(80, 4, 6));
  ASSERT_TRUE(fooled.predictor);
  std::vector<Row> runs = RunsOf(80, 4, 6);
  const auto honest = RunsOf(60, 1, 7);
  runs.insert(runs.end(), honest.begin(), honest.end());
  const Retrained again = Retrain(*fooled.predictor, runs);
  EXPECT_NE(again[Figure::kStepSeconds].verdict, Verdict::kKept);
  const auto next = RunsOf(60, 1, 8);
  EXPECT_LE(*ErrorOn(UsedAfter(again, *fooled.predictor), next, Figure::kStepSeconds),
            *ErrorOn(ShippedOne(), next, Figure::kStepSeconds) * 1.05 + 0.005);
}

TEST(Drift, ErringHalfAgainAsMuchIsSaidInWords) {
  const auto runs = RunsOf(80, 1, 9);
  std::array<std::optional<double>, kFigures> judged;
  judged[Index(Figure::kStepSeconds)] = ErrorOn(ShippedOne(), runs, Figure::kStepSeconds);
  EXPECT_EQ(FindDrift(ShippedOne(), judged, runs).words, "");
  const auto slower = RunsOf(40, 1.5, 10);
  const Drift drift = FindDrift(ShippedOne(), judged, slower);
  EXPECT_THAT(drift.figures, ::testing::ElementsAre(Figure::kStepSeconds));
  EXPECT_THAT(drift.words, HasSubstr("over the last 40 runs they err in step_seconds by"));
  EXPECT_EQ(FindDrift(ShippedOne(), judged, std::span(slower).first(5)).words, "")
      << "five runs say nothing";
}

}  // namespace
}  // namespace sharewell::predict
