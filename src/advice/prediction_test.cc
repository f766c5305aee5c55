#include "advice/prediction.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "catalogue/builtin_measurements.h"
#include "core/gpu_model.h"
#include "platform/files/test_folder.h"

namespace sharewell::advice {
namespace {

using predict::Figure;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kNet =
    R"({"inputs":[{"name":"x","shape":["batch",3,32,32]}],"layers":[
        {"type":"conv2d","out_channels":32,"kernel":3,"padding":1},{"type":"relu"},
        {"type":"conv2d","out_channels":64,"kernel":3,"padding":1},{"type":"relu"},
        {"type":"globalpool"},{"type":"flatten"},{"type":"linear","out":10}]})";

const predict::Trained& Ours() {
  static const predict::Trained trained = BuiltinModel().value();
  return trained;
}

class PredictionTest : public ::testing::Test {
 protected:
  PredictionTest() { net = folder.Write("net.json", kNet); }

  PredictionAsk Ask() const {
    PredictionAsk ask;
    ask.model = net;
    ask.batch = 32;
    return ask;
  }
  PredictionRow One(const PredictionAsk& ask) const {
    auto row = PredictOne(ask, Ours().predictor, catalogue);
    EXPECT_TRUE(row) << row.error().message;
    return row ? *std::move(row) : PredictionRow();
  }
  core::Result<std::vector<PredictionAsk>> Manifest(const std::string& text) const {
    return ReadManifest(folder.Write("jobs.csv", text), Ask());
  }
  std::string ManifestError(const std::string& text) const {
    const auto asks = Manifest(text);
    return asks ? "no error" : asks.error().message;
  }
  std::vector<SpeedRow> ColocationModel(const std::vector<PredictionAsk>& asks) const {
    auto rows = PredictColocated(asks, Ours(), catalogue);
    EXPECT_TRUE(rows) << rows.error().message;
    return rows ? *std::move(rows) : std::vector<SpeedRow>();
  }
  std::string ColocationError(const std::vector<PredictionAsk>& asks) const {
    const auto rows = PredictColocated(asks, Ours(), catalogue);
    return rows ? "no error" : rows.error().message;
  }
  static PredictionAsk Profile(const core::Workload& workload) {
    PredictionAsk ask;
    ask.profile = workload.name;
    ask.batch = workload.batch;
    ask.precision = workload.precision;
    ask.workers = workload.workers;
    return ask;
  }

  platform::TestFolder folder;
  std::string net;
  catalogue::GpuCatalogue catalogue = catalogue::GpuCatalogue::Builtin();
  core::Measurements measured = catalogue::BuiltinMeasurements();
};

TEST(BuiltinModel, IsReadAndKnowsOurGpuOurProfilesAndOurPairs) {
  ASSERT_TRUE(Ours().together);
  for (const core::Profile& profile : catalogue::FirstSitting().profiles) {
    const core::Workload& w = profile.workload;
    EXPECT_NE(Ours().predictor.Find(w.name, w.batch, w.precision, w.workers), nullptr) << w.name;
  }
}

TEST_F(PredictionTest, OneModelOnOneGpu) {
  const PredictionRow row = One(Ask());
  EXPECT_TRUE(row.prediction.gpu_known);
  EXPECT_EQ(row.all_reduce, 0);
  EXPECT_EQ(row.uncosted, 0);
  EXPECT_EQ(row.gpu_memory, catalogue.Find("H200")->memory);
  EXPECT_GT(row.prediction[Figure::kMemory].median, 5e8) << "a context alone is as much";
  EXPECT_EQ(row.StepSeconds().median, row.prediction[Figure::kStepSeconds].median);
}

TEST_F(PredictionTest, AnAliasOfTheGpuIsAnsweredWithItsName) {
  PredictionAsk ask = Ask();
  ask.gpu = "nvidia h200";
  EXPECT_EQ(One(ask).ask.gpu, "H200");
  EXPECT_TRUE(One(ask).prediction.gpu_known);
  ask.gpu = "V100";
  EXPECT_FALSE(One(ask).prediction.gpu_known);
}

TEST_F(PredictionTest, SeveralGpusAddTheExchangeOfGradientsAndMoreOfItOverSlowerLinks) {
  const std::string large =
      folder.Write("large.json", R"({"inputs":[{"name":"x","shape":["batch",8192]}],"layers":[
                        {"type":"repeat","times":4,"layers":[{"type":"linear","out":8192}]}]})");
  const auto exchange = [&](int gpus, const std::string& gpu) {
    PredictionAsk ask = Ask();
    ask.model = large;
    ask.gpus = gpus;
    ask.gpu = gpu;
    const PredictionRow row = One(ask);
    EXPECT_DOUBLE_EQ(row.StepSeconds().low,
                     row.prediction[Figure::kStepSeconds].low + row.all_reduce);
    return row.all_reduce;
  };
  EXPECT_EQ(exchange(1, "H200"), 0);
  EXPECT_GT(exchange(8, "H200"), exchange(2, "H200"));
  EXPECT_GT(exchange(8, "T4"), exchange(8, "H200"));
}

// A law over the catalogue: whatever was learnt on one GPU, nothing is told of another that it
// cannot do.
TEST_F(PredictionTest, WhatCannotBeIsToldOfNoGpu) {
  const std::vector<std::string> models = {
      net,
      folder.Write("image.json", R"({"inputs":[{"name":"x","shape":["batch",3,64,64]}],"layers":[
          {"type":"conv2d","out_channels":64,"kernel":3},{"type":"relu"},{"type":"conv2d","out_channels":128,"kernel":3},
          {"type":"globalpool"},{"type":"linear","out":10}]})"),
      folder.Write("wide.json", R"({"inputs":[{"name":"x","shape":["batch",8192]}],"layers":[
          {"type":"repeat","times":6,"layers":[{"type":"linear","out":8192}]}]})"),
      folder.Write("narrow.json", R"({"inputs":[{"name":"x","shape":["batch",64]}],"layers":[
          {"type":"repeat","times":40,"layers":[{"type":"linear","out":64},{"type":"layernorm"}]}]})"),
      folder.Write("tokens.json",
                   R"({"inputs":[{"name":"x","shape":["batch",64],"dtype":"int64"}],"layers":[
          {"type":"embedding","rows":1000,"dim":64},{"type":"attention","heads":4},{"type":"lstm","hidden":32}]})"),
      folder.Write("depthwise.json",
                   R"({"inputs":[{"name":"x","shape":["batch",3,32,32]}],"layers":[
          {"type":"conv2d","out_channels":32,"kernel":3},{"type":"conv2d","out_channels":32,"kernel":3,"groups":32},
          {"type":"batchnorm"},{"type":"globalpool"},{"type":"linear","out":10}]})")};
  const auto has = [](const std::optional<double>& tflops) { return tflops.has_value(); };
  int asked = 0;
  for (const core::GpuModel& gpu : catalogue.models()) {
    for (const std::string precision : {"fp32", "tf32", "fp16", "bf16"}) {
      for (const std::string& model : models) {
        PredictionAsk ask = Ask();
        ask.model = model;
        ask.gpu = gpu.name;
        ask.precision = precision;
        const predict::Prediction p = One(ask).prediction;
        const std::string what = gpu.name + ", " + precision + ", " + model;
        ++asked;
        const bool native = precision == "fp32" || (precision == "tf32" && has(gpu.tf32_tflops)) ||
                            (precision == "fp16" && has(gpu.fp16_tflops)) ||
                            (precision == "bf16" && has(gpu.bf16_tflops));
        EXPECT_EQ(p.precision_native, native) << what;
        // P100 computes in half precision on plain cores.
        const bool plain = gpu.fp16_tflops.value_or(0) <= 2 * gpu.fp32_tflops;
        if (!native || (!has(gpu.tf32_tflops) && (plain || precision == "fp32"))) {
          EXPECT_EQ(p[Figure::kTensor].high, 0) << what;
        }
        const auto &busy = p[Figure::kBusySeconds], &step = p[Figure::kStepSeconds];
        EXPECT_LE(busy.low, step.low) << what;
        EXPECT_LE(busy.median, step.median) << what;
        EXPECT_LE(busy.high, step.high) << what;
        for (const core::Estimated<>& value : p.figures) {
          EXPECT_LE(0, value.low) << what;
          EXPECT_LE(value.low, value.median) << what;
          EXPECT_LE(value.median, value.high) << what;
          EXPECT_TRUE(std::isfinite(value.high)) << what;
        }
        for (const Figure share : {Figure::kBusy, Figure::kSm, Figure::kDram, Figure::kTensor}) {
          EXPECT_LE(p[share].high, 1) << what;
        }
        // No SM works while no kernel runs, and no matrix unit while its SM does not.
        EXPECT_LE(p[Figure::kSm].high, p[Figure::kBusy].high) << what;
        EXPECT_LE(p[Figure::kSm].median, p[Figure::kBusy].median) << what;
        EXPECT_LE(p[Figure::kTensor].high, p[Figure::kSm].high) << what;
        EXPECT_LE(p[Figure::kTensor].median, p[Figure::kSm].median) << what;
        for (const double cores : {1.0, 2.0, 64.0}) EXPECT_GE(p.Stretch(cores), 1) << what;
        if (gpu.power_limit) {
          EXPECT_LE(p[Figure::kPower].high, gpu.power_limit->value) << what;
        }
      }
    }
  }
  EXPECT_GT(asked, 400);
}

TEST_F(PredictionTest, APrecisionThatTheGpuLacksIsNoFasterThanFullPrecision) {
  const auto step = [&](const std::string& gpu, const std::string& precision) {
    PredictionAsk ask = Ask();
    ask.model = folder.Write("w.json", R"({"inputs":[{"name":"x","shape":["batch",8192]}],"layers":[
        {"type":"repeat","times":6,"layers":[{"type":"linear","out":8192}]}]})");
    ask.batch = 1024;
    ask.gpu = gpu;
    ask.precision = precision;
    return One(ask).prediction[Figure::kBusySeconds].median;
  };
  EXPECT_LT(step("V100", "fp16"), 0.5 * step("V100", "fp32"));
  EXPECT_GT(step("V100", "bf16"), 0.7 * step("V100", "fp32"));
  EXPECT_LT(step("A100", "bf16"), 0.5 * step("A100", "fp32"));
}

TEST_F(PredictionTest, ErrorsSayWhichRowTheyAreOf) {
  const auto error = [&](auto change) {
    PredictionAsk ask = Ask();
    ask.where = "jobs.csv: line 7";
    change(ask);
    const auto row = PredictOne(ask, Ours().predictor, catalogue);
    return row ? "no error" : row.error().message;
  };
  EXPECT_THAT(error([](auto& ask) { ask.gpu = "H2000"; }),
              AllOf(HasSubstr("jobs.csv: line 7"), HasSubstr("did you mean 'H200'?")));
  EXPECT_THAT(error([](auto& ask) { ask.precision = "int8"; }),
              AllOf(HasSubstr("line 7"), HasSubstr("'int8'")));
  EXPECT_THAT(error([](auto& ask) { ask.optimizer = "lion"; }),
              AllOf(HasSubstr("line 7"), HasSubstr("'lion'")));
  EXPECT_THAT(error([](auto& ask) { ask.model = "gone.onnx"; }),
              AllOf(HasSubstr("line 7"), HasSubstr("gone.onnx: no such file")));
}

TEST_F(PredictionTest, WhatAManifestLeavesOutIsTakenFromTheDefaults) {
  PredictionAsk defaults = Ask();
  defaults.precision = "bf16";
  defaults.workers = 7;
  defaults.gpu = "A100";
  defaults.optimizer = "adamw";
  const auto asks =
      ReadManifest(folder.Write("jobs.csv",
                                "model,batch,precision,workers,gpu,optimizer,gpus,group\n"
                                "a.onnx,,,,,,,\n"
                                "b.onnx,8,tf32,0,V100,plain-sgd,4,pair\n"),
                   defaults);
  ASSERT_TRUE(asks) << asks.error().message;
  ASSERT_EQ(asks->size(), 2U);
  const PredictionAsk& a = (*asks)[0];
  EXPECT_EQ(a.model, "a.onnx");
  EXPECT_EQ(a.batch, 32);
  EXPECT_EQ(a.precision, "bf16");
  EXPECT_EQ(a.workers, 7);
  EXPECT_EQ(a.gpu, "A100");
  EXPECT_EQ(a.optimizer, "adamw");
  EXPECT_EQ(a.gpus, 1);
  const PredictionAsk& b = (*asks)[1];
  EXPECT_EQ(b.batch, 8);
  EXPECT_EQ(b.precision, "tf32");
  EXPECT_EQ(b.workers, 0);
  EXPECT_EQ(b.gpu, "V100");
  EXPECT_EQ(b.optimizer, "plain-sgd");
  EXPECT_EQ(b.gpus, 4);
  EXPECT_EQ(b.group, "pair");
  EXPECT_THAT(b.where, HasSubstr("jobs.csv: line 3"));
}

TEST_F(PredictionTest, AManifestsModelsLieBesideIt) {
  std::filesystem::create_directory(folder.Path("models"));
  folder.Write("models/mine.json", kNet);
  const auto asks = Manifest("model\nmodels/mine.json\n" + net + "\ngone.json\n");
  ASSERT_TRUE(asks) << asks.error().message;
  EXPECT_EQ((*asks)[0].model, folder.Path("models/mine.json"));
  EXPECT_EQ((*asks)[1].model, net) << "a whole path is what it says";
  EXPECT_EQ((*asks)[2].model, "gone.json") << "as the user wrote it, for the message";
}

TEST_F(PredictionTest, AManifestThatIsWrongIsToldByLine) {
  EXPECT_THAT(ManifestError("batch,precision\n8,fp32\n"), HasSubstr("has no column 'model'"));
  EXPECT_THAT(ManifestError("modle,batch\na,8\n"), HasSubstr("is it the one named 'modle'?"));
  EXPECT_THAT(ManifestError("model,batch\na.onnx,8\nb.onnx,0\n"),
              AllOf(HasSubstr("jobs.csv: line 3"), HasSubstr("batch")));
  EXPECT_THAT(ManifestError("model,batch\na.onnx,99999999999\n"), HasSubstr("line 2"));
  EXPECT_THAT(ManifestError("model,workers\na.onnx,-1\n"), HasSubstr("workers"));
  EXPECT_THAT(ManifestError("model,gpus\na.onnx,0\n"), HasSubstr("gpus"));
  EXPECT_THAT(ManifestError("model,profile\n,\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("names neither a model nor a profile")));
  EXPECT_THAT(ManifestError("model,batch\n"), HasSubstr("has no rows below its header"));
  EXPECT_THAT(ManifestError(""), HasSubstr("jobs.csv"));
  EXPECT_FALSE(ReadManifest(folder.Path("none.csv"), {}));
}

TEST_F(PredictionTest, RowsOfOneGroupShareAGpuAndComeBackInTheirOrder) {
  std::vector<PredictionAsk> asks(5, Ask());
  asks[0].group = asks[2].group = asks[4].group = "three";
  asks[1].group = "one";
  asks[3].group = "another";
  asks[4].batch = 2048;
  const std::vector<SpeedRow> rows = ColocationModel(asks);
  ASSERT_EQ(rows.size(), 5U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].ask.group, asks[i].group);
    EXPECT_EQ(rows[i].ask.batch, asks[i].batch);
    EXPECT_LE(rows[i].speed.low, rows[i].speed.median);
    EXPECT_LE(rows[i].speed.median, rows[i].speed.high);
  }
  EXPECT_EQ(rows[1].speed.median, 1) << "alone";
  EXPECT_EQ(rows[3].speed.median, 1) << "alone";
  EXPECT_LT(rows[0].speed.median, 1);
  EXPECT_EQ(rows[0].speed.median, rows[2].speed.median) << "the same job at the same place";
}

TEST_F(PredictionTest, WithoutGroupsAllShareOneGpu) {
  const std::vector<SpeedRow> two = ColocationModel(std::vector<PredictionAsk>(2, Ask()));
  const std::vector<SpeedRow> four = ColocationModel(std::vector<PredictionAsk>(4, Ask()));
  EXPECT_LT(two[0].speed.median, 1);
  EXPECT_LT(four[0].speed.median, two[0].speed.median);
}

TEST_F(PredictionTest, AMeasuredPairIsAnsweredWithTheMeasurement) {
  const core::PairMeasurement& pair = measured.pairs.at(1);
  const std::vector<SpeedRow> rows = ColocationModel({Profile(pair.a), Profile(pair.b)});
  EXPECT_EQ(rows[0].speed.source, core::Source::kObserved);
  EXPECT_TRUE(rows[0].demand_measured);
  const std::vector<SpeedRow> other = ColocationModel({Profile(pair.a), Ask()});
  EXPECT_EQ(other[0].speed.source, core::Source::kPredicted);
  EXPECT_TRUE(other[0].demand_measured);
  EXPECT_FALSE(other[1].demand_measured) << "that one's demand was predicted";
}

TEST_F(PredictionTest, AProfileThatIsNotThereIsToldWithTheNearest) {
  core::Workload workload = measured.profiles.at(0).workload;
  PredictionAsk ask = Profile(workload);
  ask.where = "jobs.csv: line 2";
  ask.profile += "x";
  EXPECT_THAT(ColocationError({ask}), AllOf(HasSubstr("jobs.csv: line 2"),
                                            HasSubstr("did you mean '" + workload.name + "'?")));
  ask = Profile(workload);
  ask.batch += 1;
  EXPECT_THAT(ColocationError({ask}), AllOf(HasSubstr("was measured, but not with batch"),
                                            HasSubstr("one that was: batch")));
}

TEST_F(PredictionTest, AProfileCountsOnlyOnTheGpuModelItWasMeasuredOn) {
  PredictionAsk ask = Profile(measured.profiles.at(0).workload);
  ask.gpu = "V100";
  EXPECT_THAT(ColocationError({ask}), HasSubstr("was measured on H200, not on V100"));
}

TEST_F(PredictionTest, AGroupIsOnOneGpuModel) {
  std::vector<PredictionAsk> asks(2, Ask());
  asks[1].gpu = "A100";
  asks[1].where = "jobs.csv: line 3";
  EXPECT_THAT(ColocationError(asks),
              AllOf(HasSubstr("jobs.csv: line 3: these rows are on H200 and A100"),
                    HasSubstr("column `group`")));
  asks[0].group = asks[1].group = "pair";
  EXPECT_THAT(ColocationError(asks), HasSubstr("group 'pair' is on H200 and A100"));
  asks[1].group = "other";
  EXPECT_EQ(ColocationModel(asks)[1].ask.gpu, "A100");
}

TEST_F(PredictionTest, WhetherAllFitInMemoryIsSaidOfTheWholeGroup) {
  ASSERT_TRUE(catalogue.ExtendFrom(
      "name,memory_gb,bandwidth_gbs,fp32_tflops,sms\nSmall,4,1000,10,80\n", "mine.csv"));
  PredictionAsk ask = Ask();
  ask.gpu = "Small";
  EXPECT_TRUE(ColocationModel({ask})[0].fits);
  const std::vector<SpeedRow> rows = ColocationModel(std::vector<PredictionAsk>(6, ask));
  for (const SpeedRow& row : rows) EXPECT_FALSE(row.fits);
}

TEST_F(PredictionTest, TrainedWithoutPairsItSaysHowToTrainWithThem) {
  const auto rows = PredictColocated({Ask()}, {Ours().predictor, std::nullopt}, catalogue);
  ASSERT_FALSE(rows);
  EXPECT_THAT(rows.error().message, HasSubstr("--pairs FILE"));
}

TEST_F(PredictionTest, ATrainedFileThatIsNoneIsToldByName) {
  const auto trained = ReadTrainedFile(folder.Write("model.json", "{}"));
  ASSERT_FALSE(trained);
  EXPECT_THAT(trained.error().message, AllOf(HasSubstr("model.json"), HasSubstr("damaged")));
  EXPECT_FALSE(ReadTrainedFile(folder.Path("none.json")));
}

TEST_F(PredictionTest, ASlowerHostMakesStepsThatWaitForItLonger) {
  PredictionAsk ask = Ask();
  const PredictionRow before = One(ask);
  ask.host.time = 2;
  const PredictionRow slow = One(ask);
  EXPECT_GT(slow.StepSeconds().median, 1.2 * before.StepSeconds().median);
  EXPECT_LT(slow.prediction[Figure::kBusy].median, before.prediction[Figure::kBusy].median);
}

TEST_F(PredictionTest, ThePredictorAloneIsThatOfTheWholeModel) {
  const auto alone = PredictorOrBuiltin("");
  ASSERT_TRUE(alone) << alone.error().message;
  const auto row = PredictOne(Ask(), *alone, catalogue);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->StepSeconds().median, One(Ask()).StepSeconds().median);
  EXPECT_EQ(row->StepSeconds().high, One(Ask()).StepSeconds().high);
}

}  // namespace
}  // namespace sharewell::advice
