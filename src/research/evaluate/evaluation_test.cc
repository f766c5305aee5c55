#include "research/evaluate/evaluation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "graph/layers/layers.h"
#include "predict/learn/judge/metrics.h"

namespace sharewell::research {
namespace {

using predict::Figure;
using ::testing::HasSubstr;

// Perceptrons of six families on two GPU models, five sizes each; the second GPU is half as fast.
// Times and memory are the base's own, off by a few percent that depend on the family.
class Synthetic {
 public:
  static constexpr int kFamilies = 6, kSizes = 5;

  Synthetic() {
    for (const char* name : {"Fast", "Slow"}) {
      core::GpuModel gpu;
      gpu.name = name;
      gpu.memory = core::GiB(80);
      gpu.bandwidth = core::BytesPerSecond(name[0] == 'F' ? 2e12 : 1e12);
      gpu.fp32_tflops = name[0] == 'F' ? 20 : 10;
      gpu.sms = 100;
      set.gpus.push_back(gpu);
    }
    for (int family = 0; family < kFamilies; ++family) {
      for (int size = 0; size < kSizes; ++size) Add(family, size);
    }
  }

  TrainingSet set;

 private:
  void Add(int family, int size) {
    std::string layers;
    for (int i = 0; i <= family; ++i) {
      layers += fmt::format(R"({}{{"type":"linear","out":{}}},{{"type":"relu"}})", i > 0 ? "," : "",
                            256 << size);
    }
    graph::Binding binding;
    binding.batch = 16 << size;
    auto graph = graph::ReadLayers(
        fmt::format(R"({{"inputs":[{{"name":"x","shape":["batch",512]}}],"layers":[{}]}})", layers),
        "net.json", binding);
    ASSERT_TRUE(graph) << graph.error().message;
    set.graphs.push_back(std::move(*graph));
    predict::Row row;
    row.workload = fmt::format("mlp{}:{}", family, size);
    row.family = fmt::format("mlp{}", family);
    row.precision_word = "fp32";
    row.query.graph = &set.graphs.back();
    row.query.gpu = &set.gpus[static_cast<std::size_t>(size % 2)];
    row.query.run.precision = graph::Precision::kFp32;
    const predict::Base base = predict::BaseOf(row.query);
    const double off = 1 + 0.02 * (family - 2) + 0.01 * size;
    const double step = base.Step(base.gpu) * off;
    row.measured[Index(Figure::kBusySeconds)] = base.gpu * off;
    row.measured[Index(Figure::kStepSeconds)] = step;
    row.measured[Index(Figure::kBusy)] = std::min(1.0, base.gpu * off / step);
    row.measured[Index(Figure::kMemory)] = (1.5e9 + base.memory.Peak()) * off;
    set.rows.push_back(std::move(row));
  }
};

Evaluation Evaluated(const TrainingSet& set, const EvaluationOptions& options) {
  auto out = Evaluate(set, options);
  EXPECT_TRUE(out) << out.error().message;
  return out ? std::move(*out) : Evaluation{};
}

EvaluationOptions Of(HoldBack split, std::vector<std::string> learners, std::size_t folds = 3) {
  EvaluationOptions options;
  options.split = split;
  options.folds = folds;
  options.learners = std::move(learners);
  return options;
}

// Everything a test may compare of what was predicted, not of what was measured.
using Key = std::tuple<std::size_t, std::size_t, std::string_view>;
std::map<Key, HeldOutValue> ByKey(const Evaluation& evaluation) {
  std::map<Key, HeldOutValue> out;
  for (const HeldOutValue& value : evaluation.values) {
    out[{value.row, value.fold, value.figure}] = value;
  }
  return out;
}

TEST(Evaluate, HoldsEachFamilyOutWholeAndOnce) {
  const Synthetic synthetic;
  const Evaluation out = Evaluated(synthetic.set, Of(HoldBack::kFamily, {"analytic"}));
  std::map<std::string, std::set<std::size_t>> folds;
  std::set<std::pair<std::size_t, std::string_view>> seen;
  for (const HeldOutValue& value : out.values) {
    folds[out.rows[value.row].family].insert(value.fold);
    EXPECT_TRUE(seen.emplace(value.row, value.figure).second) << "held out twice";
  }
  EXPECT_EQ(out.folds, 3U);
  EXPECT_EQ(folds.size(), std::size_t{Synthetic::kFamilies});
  for (const auto& [family, in] : folds) EXPECT_EQ(in.size(), 1U) << family;
  EXPECT_EQ(seen.size(), 4 * out.rows.size());
}

// What a held-out row was measured to need must not reach its prediction, by any way.
TEST(Evaluate, NeverLeaksAHeldOutFamily) {
  Synthetic synthetic;
  const auto options = Of(HoldBack::kFamily, {"boosted"});
  const auto before = ByKey(Evaluated(synthetic.set, options));
  for (predict::Row& row : synthetic.set.rows) {
    if (row.family != "mlp4") continue;
    for (const Figure figure : {Figure::kBusySeconds, Figure::kStepSeconds, Figure::kMemory}) {
      *row.measured[Index(figure)] *= 7;
    }
  }
  const Evaluation after = Evaluated(synthetic.set, options);
  std::size_t others_moved = 0;
  for (const auto& [key, value] : ByKey(after)) {
    if (after.rows[value.row].family == "mlp4") {
      EXPECT_EQ(value.predicted.median, before.at(key).predicted.median);
    } else if (value.predicted.median != before.at(key).predicted.median) {
      ++others_moved;
    }
  }
  EXPECT_GT(others_moved, 0U);  // so something is learnt from the others at all
}

// Nothing is learnt by the base, so bounds too must stay as they are.
TEST(Evaluate, NeverBoundsARowByItself) {
  for (const HoldBack split : {HoldBack::kFamily, HoldBack::kRandom}) {
    Synthetic synthetic;
    const auto options = Of(split, {"analytic"}, 4);
    const auto before = ByKey(Evaluated(synthetic.set, options));
    *synthetic.set.rows[7].measured[Index(Figure::kMemory)] *= 100;
    std::size_t others_moved = 0;
    for (const auto& [key, value] : ByKey(Evaluated(synthetic.set, options))) {
      if (value.row == 7) {
        EXPECT_EQ(value.predicted.high, before.at(key).predicted.high);
      } else if (value.predicted.high != before.at(key).predicted.high) {
        ++others_moved;
      }
    }
    EXPECT_GT(others_moved, 0U);
  }
}

TEST(Evaluate, AveragesTheErrorsOfRounds) {
  const Synthetic synthetic;
  const Evaluation out = Evaluated(synthetic.set, Of(HoldBack::kRandom, {"analytic"}, 4));
  double sum = 0;
  for (std::size_t fold = 0; fold < 4; ++fold) {
    std::vector<double> actual, predicted;
    for (const HeldOutValue& value : out.values) {
      if (value.fold != fold || value.figure != "gpu_memory") continue;
      actual.push_back(value.actual);
      predicted.push_back(value.predicted.median);
    }
    EXPECT_EQ(actual.size(), 6U);  // a fifth of thirty
    sum += predict::learn::MeanAbsolutePercentageError(actual, predicted);
  }
  const FigureErrors* memory = out.learners.at(0).Find("gpu_memory");
  ASSERT_NE(memory, nullptr);
  EXPECT_NEAR(*memory->mape, sum / 4, 1e-12);
  EXPECT_EQ(memory->rows, 24U);
  EXPECT_FALSE(memory->rmsle);
  const FigureErrors* busy = out.learners[0].Find("busy");
  ASSERT_NE(busy, nullptr);
  EXPECT_TRUE(busy->rmsle && !busy->mape && !busy->over_reservation);
  EXPECT_EQ(out.learners[0].Find("power"), nullptr);  // nobody measured it
}

TEST(Evaluate, HoldsEachGpuModelOut) {
  const Synthetic synthetic;
  const Evaluation out = Evaluated(synthetic.set, Of(HoldBack::kGpu, {"linear"}));
  EXPECT_EQ(out.folds, 2U);
  for (const HeldOutValue& value : out.values) {
    EXPECT_EQ(value.fold, out.rows[value.row].gpu == "Fast" ? 0U : 1U);
  }
}

TEST(Evaluate, SearchesAndSaysWhatTheBoostedTreesLookAt) {
  const Synthetic synthetic;
  auto options = Of(HoldBack::kFamily, {"linear", "boosted"}, 2);
  EXPECT_EQ(Evaluated(synthetic.set, options).importance.size(), 3U);
  options.learners = {"linear"};
  options.search = true;
  std::size_t last = 0;
  options.progress = [&](std::string_view, std::size_t done, std::size_t of) {
    EXPECT_EQ(of, 2U);
    EXPECT_EQ(done, ++last);
  };
  EXPECT_TRUE(Evaluated(synthetic.set, options).importance.empty());
  EXPECT_EQ(last, 2U);
}

TEST(Evaluate, RefusesWhatCannotBeSplit) {
  Synthetic synthetic;
  EXPECT_THAT(Evaluate(synthetic.set, Of(HoldBack::kFamily, {"lineer"})).error().message,
              HasSubstr("did you mean 'linear'?"));
  for (predict::Row& row : synthetic.set.rows) {
    row.family = "one";
    row.query.gpu = &synthetic.set.gpus[0];
  }
  EXPECT_THAT(Evaluate(synthetic.set, Of(HoldBack::kFamily, {})).error().message,
              HasSubstr("one model family"));
  EXPECT_THAT(Evaluate(synthetic.set, Of(HoldBack::kGpu, {})).error().message,
              HasSubstr("all of Fast"));
  EXPECT_THAT(ParseHoldBack("famly").error().message, HasSubstr("random, family, gpu"));
}

}  // namespace
}  // namespace sharewell::research
