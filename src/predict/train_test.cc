#include "predict/train.h"

#include <gmock/gmock.h>

#include <cmath>

#include "predict/features.h"
#include "predict/test_world.h"
#include "predict/trained.h"

namespace sharewell::predict {
namespace {

using ::testing::HasSubstr;

Predictor Learnt(std::span<const Row> rows, const TrainOptions& options = {}) {
  auto predictor = Train(rows, options);
  EXPECT_TRUE(predictor) << predictor.error().message;
  return predictor ? *std::move(predictor) : Predictor();
}

// Learning takes a second: once for all tests that only ask.
const TestWorld& World() {
  static const TestWorld world;
  return world;
}
const Predictor& Taught() {
  static const Predictor predictor = Learnt(World().rows);
  return predictor;
}

// Unlike anything in the world.
graph::Graph Stranger() {
  return TestGraph(R"({"inputs":[{"name":"x","shape":["batch",500000],"dtype":"int64"}],"layers":[
                       {"type":"embedding","rows":10000000,"dim":2},{"type":"softmax"}]})",
                   4096);
}

double Width(Figure figure, const Value& value) {
  return ToScale(figure, value.high) - ToScale(figure, value.median);
}

TEST(Train, LearnsWhatTheArithmeticErrsBy) {
  const graph::Graph graph = TestGraph(ImageList(64, 3), 48);
  const Query query = TestQuery(graph, World().gpu);
  const double base = BaseOf(query).gpu;
  const double learnt = Taught().Predict(query)[Figure::kBusySeconds].median;
  EXPECT_GT(learnt, 1.1 * base) << "the world is 1.5 times as slow as the arithmetic";
  EXPECT_LT(learnt, 1.5 * base) << "of times only a part of what was learnt is believed";
}

TEST(Train, TheAnalyticLearnerIsTheArithmeticAlone) {
  const Predictor predictor = Learnt(World().rows, {.learner = "analytic"});
  const graph::Graph graph = TestGraph(ImageList(64, 3), 48);
  const Query query = TestQuery(graph, World().gpu);
  const Prediction prediction = predictor.Predict(query);
  const Base base = BaseOf(query);
  EXPECT_NEAR(prediction[Figure::kBusySeconds].median / base.gpu, 1, 1e-12);
  EXPECT_NEAR(prediction[Figure::kStepSeconds].median / base.Step(base.gpu), 1, 1e-12);
  EXPECT_GT(prediction[Figure::kBusySeconds].high, 1.4 * base.gpu)
      << "its bounds still are what it was seen to err by";
}

TEST(Train, TheSameRowsGiveTheSameBytes) {
  const std::string once = Write(Trained{Taught(), std::nullopt});
  EXPECT_EQ(Write(Trained{Learnt(World().rows), std::nullopt}), once);
}

TEST(Train, EveryKindOfLearnerLearns) {
  const graph::Graph graph = TestGraph(TokenList(256, 4), 48);
  const Query query = TestQuery(graph, World().gpu);
  const double base = BaseOf(query).gpu;
  for (const char* learner : {"boosted", "forest", "extra", "linear", "gaussian", "mean"}) {
    const Predictor predictor = Learnt(World().rows, {.learner = learner, .folds = 2});
    EXPECT_GT(predictor.Predict(query)[Figure::kBusySeconds].median, 1.1 * base) << learner;
  }
}

TEST(Train, FewRowsAreRefusedWithTheNumberThatIsNeeded) {
  const auto few = Train(std::span(World().rows).first(3), {});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().kind, core::ErrorKind::kUsage);
  EXPECT_THAT(few.error().message, HasSubstr("3 measured workloads are too few"));
  EXPECT_THAT(few.error().message, HasSubstr("at least 8"));
  EXPECT_FALSE(Train({}, {}));
}

TEST(Train, AFigureThatNobodyMeasuredIsTheArithmeticsWithoutBounds) {
  TestWorld world;
  for (Row& row : world.rows) row.measured[Index(Figure::kPower)].reset();
  const Predictor predictor = Learnt(world.rows, {.folds = 2});
  EXPECT_EQ(predictor.residual(Figure::kPower), nullptr);
  EXPECT_NE(predictor.residual(Figure::kMemory), nullptr);
  const Prediction prediction = predictor.Predict(world.rows[0].query);
  EXPECT_EQ(prediction[Figure::kPower].high, prediction[Figure::kPower].median);
  EXPECT_GT(prediction[Figure::kMemory].high, prediction[Figure::kMemory].median);
}

TEST(Train, NoisyRowsCountForLess) {
  const graph::Graph graph = TestGraph(ImageList(64, 3), 48);
  const auto memory = [&](double weight) {
    TestWorld world;
    for (std::size_t i = 0; i < world.rows.size(); i += 2) {
      *world.rows[i].measured[Index(Figure::kMemory)] *= 10;
      world.rows[i].weight = weight;
    }
    return Learnt(world.rows, {.learner = "linear", .folds = 2})
        .Predict(TestQuery(graph, world.gpu, graph::Precision::kBf16))[Figure::kMemory]
        .median;
  };
  EXPECT_LT(memory(0.001), memory(1));
}

TEST(Train, OneFamilyAloneIsHeldOutRowByRow) {
  TestWorld world;
  for (Row& row : world.rows) row.family = "all";
  const Predictor predictor = Learnt(world.rows, {.folds = 3});
  for (const Known& known : predictor.known()) {
    EXPECT_TRUE(known.held_out[Index(Figure::kMemory)]) << known.workload;
  }
}

TEST(Train, TellsItsProgress) {
  std::vector<std::size_t> told;
  Learnt(World().rows,
         {.learner = "linear", .folds = 3, .progress = [&](std::size_t done, std::size_t of) {
            EXPECT_EQ(of, 3U);
            told.push_back(done);
          }});
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(HoldOut, AFamilysOwnMeasurementsDoNotReachWhatIsPredictedOfIt) {
  TestWorld world;
  std::vector<std::string> families;
  for (const Row& row : world.rows) families.push_back(row.family);
  const auto splits = learn::GroupFolds(families, 6);
  const auto before = HoldOut(world.rows, splits, {});
  for (Row& row : world.rows) {
    if (row.family != "wide") continue;
    for (auto& value : row.measured) *value *= 0.3;
  }
  const auto after = HoldOut(world.rows, splits, {});
  ASSERT_TRUE(before && after);
  for (std::size_t i = 0; i < world.rows.size(); ++i) {
    ASSERT_TRUE(before->of[i] && after->of[i]);
    if (world.rows[i].family == "wide") {
      EXPECT_EQ(*before->of[i], *after->of[i]) << "row " << i;
    } else {
      EXPECT_NE(*before->of[i], *after->of[i]) << "others learn from it; row " << i;
    }
  }
}

TEST(HoldOut, RowsThatNoSplitTestsStayEmpty) {
  std::vector<std::size_t> train;
  for (std::size_t i = 1; i < World().rows.size(); ++i) train.push_back(i);
  const std::vector<learn::Split> splits{{train, {0}}};
  const auto held_out = HoldOut(World().rows, splits, {.learner = "linear"});
  ASSERT_TRUE(held_out);
  EXPECT_TRUE(held_out->of[0]);
  EXPECT_FALSE(held_out->of[1]);
}

TEST(Predictor, BoundsAreInOrderAndFiniteWhateverIsAsked) {
  const graph::Graph stranger = Stranger();
  std::deque<graph::Graph> graphs;
  for (const std::int64_t batch : {1, 64, 1 << 20}) {
    graphs.push_back(TestGraph(ImageList(16, 2), batch));
    graphs.push_back(TestGraph(RecurrentList(512), batch));
  }
  graphs.emplace_back();
  core::GpuModel weak;  // whose catalogue row says next to nothing
  weak.name = "weak";
  for (const graph::Graph& graph : graphs) {
    for (const core::GpuModel& gpu : {World().gpu, weak}) {
      for (const graph::Precision precision : {graph::Precision::kFp32, graph::Precision::kFp16}) {
        for (const int workers : {0, 1, 64}) {
          const Prediction p = Taught().Predict(TestQuery(graph, gpu, precision, workers));
          std::vector<Value> values(p.figures.begin(), p.figures.end());
          values.insert(values.end(), {p.l2, p.host_bandwidth, p.disk, p.energy});
          for (std::size_t v = 0; v < values.size(); ++v) {
            EXPECT_LE(values[v].low, values[v].median) << v;
            EXPECT_LE(values[v].median, values[v].high) << v;
            EXPECT_GE(values[v].low, 0) << v;
            EXPECT_TRUE(std::isfinite(values[v].high)) << v;
          }
          EXPECT_LE(p[Figure::kBusy].high, 1);
          EXPECT_LE(p.l2.high, 1);
        }
      }
    }
  }
}

TEST(Predictor, NineInTenOfItsOwnRowsLieWithinTheBoundsOfWhatWasHeldOut) {
  int within = 0, all = 0;
  for (const Known& known : Taught().known()) {
    for (const Figure figure : {Figure::kMemory, Figure::kPower, Figure::kHostMemory}) {
      const double upper = Taught().UpperOverMedian(figure) * *known.held_out[Index(figure)];
      within += *known.measured[Index(figure)] <= upper * (1 + 1e-9) ? 1 : 0;
      ++all;
    }
  }
  EXPECT_GE(within, 0.95 * all);
  EXPECT_GT(Taught().UpperOverMedian(Figure::kMemory), 1);
}

TEST(Predictor, U1_OnAnotherGpuModelWhatDependsOnItHasBoundsTwiceAsWideAndMemoryHasNot) {
  core::GpuModel renamed = World().gpu;
  renamed.name = "T2";
  const graph::Graph& graph = World().graphs[0];
  const Prediction here = Taught().Predict(TestQuery(graph, World().gpu));
  const Prediction there = Taught().Predict(TestQuery(graph, renamed));
  EXPECT_TRUE(here.gpu_known && here.model_known);
  EXPECT_FALSE(there.gpu_known);
  for (const Figure figure :
       {Figure::kStepSeconds, Figure::kCores, Figure::kMemory, Figure::kHostMemory}) {
    const bool depends = figure == Figure::kStepSeconds || figure == Figure::kCores;
    EXPECT_EQ(there[figure].median, here[figure].median) << "facts count, names do not";
    EXPECT_GT(Width(figure, here[figure]), 0);
    EXPECT_NEAR(Width(figure, there[figure]), (depends ? 2 : 1) * Width(figure, here[figure]), 1e-9)
        << NameOf(figure);
    EXPECT_EQ(here.widened[Index(figure)], Widening());
    EXPECT_EQ(there.widened[Index(figure)],
              depends ? (Widening{Widening::Cause::kGpu, 2}) : Widening());
  }
}

TEST(Predictor, U1_AGraphIsNotUnlikeAllOthersBecauseItsGpuIs) {
  core::GpuModel slow = World().gpu;
  slow.name = "slow";
  slow.bandwidth = slow.bandwidth / 50;
  slow.fp32_tflops /= 50;
  const Prediction there = Taught().Predict(TestQuery(World().graphs[0], slow));
  EXPECT_FALSE(there.gpu_known);
  EXPECT_TRUE(there.model_known) << there.nearest.at(0).distance;
}

TEST(Predictor, AModelLikeNothingItLearntFromGetsWiderBoundsByFigureAndItSaysSo) {
  const graph::Graph graph = Stranger();
  const Prediction strange = Taught().Predict(TestQuery(graph, World().gpu));
  const Prediction known = Taught().Predict(World().rows[0].query);
  EXPECT_FALSE(strange.model_known);
  EXPECT_TRUE(strange.gpu_known);
  EXPECT_GT(strange.nearest.at(0).distance, 1);
  const auto wider = [&](Figure figure) {
    EXPECT_EQ(strange.widened[Index(figure)].cause, Widening::Cause::kModel);
    return Width(figure, strange[figure]) / Width(figure, known[figure]);
  };
  EXPECT_NEAR(wider(Figure::kMemory), 1.5, 1e-9);
  EXPECT_NEAR(wider(Figure::kCores), 3, 1e-9);
}

TEST(Predictor, U1_TheSearchForAlgorithmsTakesNoMoreThanTheCardHas) {
  core::GpuModel small = World().gpu;
  small.memory = core::GiB(0.125);
  const graph::Graph& graph = World().graphs[0];
  const Prediction here = Taught().Predict(TestQuery(graph, World().gpu));
  const Prediction there = Taught().Predict(TestQuery(graph, small));
  ASSERT_GT(here[Figure::kReserved].high, small.memory.value);
  EXPECT_EQ(there[Figure::kReserved].high, small.memory.value);
  EXPECT_EQ(there[Figure::kMemory], here[Figure::kMemory]) << "what it needs is told as it is";
}

TEST(Predictor, F24_NoMatrixUnitsNoActivityOfThem) {
  core::GpuModel plain = World().gpu;  // as P100: half precision at twice the plain rate
  plain.tf32_tflops.reset();
  plain.bf16_tflops.reset();
  plain.fp16_tflops = 2 * plain.fp32_tflops;
  core::GpuModel volta = plain;  // matrix units for fp16 alone
  volta.fp16_tflops = 8 * plain.fp32_tflops;
  const graph::Graph& graph = World().graphs[0];
  using P = graph::Precision;
  const auto tensor = [&](const core::GpuModel& gpu, P precision) {
    return Taught().Predict(TestQuery(graph, gpu, precision))[Figure::kTensor].high;
  };
  for (const P precision : {P::kFp32, P::kFp16, P::kBf16}) EXPECT_EQ(tensor(plain, precision), 0);
  EXPECT_GT(tensor(volta, P::kFp16), 0);
  EXPECT_EQ(tensor(volta, P::kBf16), 0);
  EXPECT_EQ(tensor(volta, P::kFp32), 0);
}

TEST(Predictor, F24_TheGpuIsNotBusyForLongerThanTheStepTakes) {
  core::GpuModel slow = World().gpu;
  slow.fp32_tflops /= 10;
  slow.tf32_tflops.reset();
  slow.bandwidth = core::GBps(100);
  for (const core::GpuModel& gpu : {World().gpu, slow}) {
    for (const graph::Graph& graph : World().graphs) {
      const Prediction p = Taught().Predict(TestQuery(graph, gpu));
      EXPECT_LE(p[Figure::kBusySeconds].low, p[Figure::kStepSeconds].low);
      EXPECT_LE(p[Figure::kBusySeconds].median, p[Figure::kStepSeconds].median);
      EXPECT_LE(p[Figure::kBusySeconds].high, p[Figure::kStepSeconds].high);
    }
  }
}

TEST(Predictor, NamesTheNearestNearestFirst) {
  const Prediction p = Taught().Predict(World().rows[5].query);
  ASSERT_EQ(p.nearest.size(), 3U);
  EXPECT_EQ(p.nearest[0].name, "wide-net batch 32 bf16");
  EXPECT_NEAR(p.nearest[0].distance, 0, 0.01) << "it is that very row";
  EXPECT_LE(p.nearest[0].distance, p.nearest[1].distance);
  EXPECT_LE(p.nearest[1].distance, p.nearest[2].distance);
}

TEST(Predictor, SaysWhatHoldsAJobBack) {
  const auto bound = [](const std::string& list, std::int64_t batch, int workers) {
    const graph::Graph graph = TestGraph(list, batch);
    return NameOf(
        Taught().Predict(TestQuery(graph, World().gpu, graph::Precision::kBf16, workers)).bound);
  };
  EXPECT_EQ(bound(ImageList(8, 1), 1, 8), "launch");
  EXPECT_EQ(bound(ImageList(8, 1), 4096, 1), "loader");
  EXPECT_EQ(bound(ImageList(8, 1), 4096, 0), "loader");
  const std::string products = R"({"inputs":[{"name":"x","shape":["batch",8192]}],"layers":[
                                   {"type":"repeat","times":30,"layers":[{"type":"linear","out":8192}]}]})";
  EXPECT_EQ(bound(products, 8192, 64), "compute");
  const std::string streams = R"({"inputs":[{"name":"x","shape":["batch",1024]}],"layers":[
                                  {"type":"linear","out":8192},
                                  {"type":"repeat","times":60,"layers":[{"type":"layernorm"}]}]})";
  EXPECT_EQ(bound(streams, 8192, 64), "memory");
}

TEST(Predictor, FindsARowByAllFourWords) {
  const Known* known = Taught().Find("wide-net", 32, "bf16", 4);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->family, "wide");
  EXPECT_EQ(known->measured, World().rows[5].measured);
  EXPECT_EQ(Taught().Find("wide-net", 32, "fp32", 4), nullptr);
  EXPECT_EQ(Taught().Find("wide-net", 33, "bf16", 4), nullptr);
  EXPECT_EQ(Taught().Find("wide-net", 32, "bf16", 5), nullptr);
  EXPECT_EQ(Taught().Find("wide", 32, "bf16", 4), nullptr);
}

TEST(Predictor, OneThatLearntNothingAssumes) {
  const graph::Graph graph = TestGraph(ImageList(16, 2), 8);
  const core::GpuModel gpu = TestGpu();
  const Prediction p = Predictor().Predict(TestQuery(graph, gpu));
  EXPECT_EQ(p[Figure::kMemory].source, core::Source::kAssumed);
  EXPECT_EQ(Taught().Predict(TestQuery(graph, gpu))[Figure::kMemory].source,
            core::Source::kPredicted);
  EXPECT_FALSE(p.model_known);
  EXPECT_FALSE(p.gpu_known);
  EXPECT_TRUE(p.nearest.empty());
}

}  // namespace
}  // namespace sharewell::predict
