#include "report/prediction/prediction.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/prediction/inspection.h"

namespace sharewell::report {
namespace {

using nlohmann::json;
using predict::Figure;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

advice::PredictionRow Row(const std::string& model = "nets/resnet50.onnx") {
  advice::PredictionRow row;
  row.ask.model = model;
  row.ask.batch = 64;
  row.ask.precision = "bf16";
  row.gpu_memory = core::Bytes(80e9);
  auto& figures = row.prediction.figures;
  figures[Index(Figure::kBusy)] = {{0.75, 0.5, 0.875}};
  figures[Index(Figure::kMemory)] = {{4e9, 3e9, 6e9}};
  figures[Index(Figure::kStepSeconds)] = {{0.125, 0.0625, 0.25}};
  figures[Index(Figure::kCores)] = {{2.5, 2, 3}};
  figures[Index(Figure::kPower)] = {{300, 250, 350}};
  row.prediction.nearest = {{"tv:resnet50@224 batch 64 bf16", 0.125}};
  return row;
}

json Parsed(const std::vector<advice::PredictionRow>& rows, std::optional<double> price = {}) {
  return json::parse(PredictionsJson(rows, price));
}

// No field of ours holds a comma or a quote here.
std::vector<std::vector<std::string>> Fields(const std::string& csv) {
  std::vector<std::vector<std::string>> out;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    auto& fields = out.emplace_back();
    std::istringstream parts(line + ",");
    for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
  }
  return out;
}

TEST(PredictionsJson, HasFlatRowsOfPercentBytesAndRates) {
  const json document = Parsed({Row()});
  EXPECT_EQ(document["schema"], 1);
  ASSERT_EQ(document["predictions"].size(), 1U);
  const json& row = document["predictions"][0];
  for (const auto& item : row.items()) EXPECT_FALSE(item.value().is_structured()) << item.key();
  EXPECT_EQ(row["model"], "nets/resnet50.onnx");
  EXPECT_EQ(row["gpu_util_p50"], 75);
  EXPECT_EQ(row["gpu_util_p95"], 87.5);
  EXPECT_EQ(row["gpu_memory_bytes_p50"], 4e9);
  EXPECT_EQ(row["gpu_memory_bytes_p95"], 6e9);
  EXPECT_EQ(row["steps_per_second_p50"], 8);
  EXPECT_EQ(row["steps_per_second_p95"], 16) << "fast steps are short ones";
  EXPECT_EQ(row["steps_per_second_p05"], 4);
  EXPECT_EQ(row["cpu_cores_p50"], 2.5);
  EXPECT_EQ(row["power_watts_p50"], 300);
  EXPECT_EQ(row["power_watts_source"], "predicted");
  EXPECT_EQ(row["nearest"], "tv:resnet50@224 batch 64 bf16 (0.12)");
}

TEST(PredictionTable, U1_SaysWhatBoundsWereWidenedForAndWhatThePeakIs) {
  advice::PredictionRow row = Row();
  row.prediction.gpu_known = false;
  using predict::Widening;
  row.prediction.widened[Index(Figure::kStepSeconds)] = {Widening::Cause::kGpu, 2};
  row.prediction.widened[Index(Figure::kCores)] = {Widening::Cause::kModel, 3};
  const std::string text = PredictionTable(row, {});
  EXPECT_THAT(text, HasSubstr("16.0  predicted, bounds x 2 for the GPU\n"));
  EXPECT_THAT(text, HasSubstr("3.00  predicted, bounds x 3 for the model\n"));
  EXPECT_THAT(text, HasSubstr("5.6 GiB  predicted\n")) << "memory hardly depends on the GPU";
  EXPECT_THAT(text, HasSubstr("It works with less, so a job is placed by its GPU memory."));
  EXPECT_EQ(Parsed({row})["predictions"][0]["steps_per_second_widened"], 2);
  EXPECT_EQ(Parsed({row})["predictions"][0]["gpu_memory_bytes_widened"], 1);
}

TEST(PredictionsJson, KeepsTheOrderOfTheRows) {
  const json document = Parsed({Row("b"), Row("a"), Row("c")});
  std::string order;
  for (const json& row : document["predictions"]) order += row["model"];
  EXPECT_EQ(order, "bac");
}

TEST(PredictionsJson, SeveralGpusSlowTheStepByTheExchange) {
  advice::PredictionRow row = Row();
  row.all_reduce = 0.125;
  EXPECT_EQ(Parsed({row})["predictions"][0]["steps_per_second_p50"], 4);
}

TEST(PredictionsJson, ACostIsThereWhereAPriceIs) {
  EXPECT_FALSE(Parsed({Row()})["predictions"][0].contains("cost_per_1000_steps_p50"));
  advice::PredictionRow row = Row();
  row.ask.gpus = 2;
  // 1,000 steps of an eighth of a second on two GPUs at 3.60 an hour.
  EXPECT_NEAR(Parsed({row}, 3.6)["predictions"][0]["cost_per_1000_steps_p50"].get<double>(), 0.25,
              1e-12);
}

TEST(PredictionsJson, ItFitsPerhapsOrNot) {
  const auto fits = [](double median, double upper) {
    advice::PredictionRow row = Row();
    row.prediction.figures[Index(Figure::kMemory)] = {{median, 1e9, upper}};
    return Parsed({row})["predictions"][0]["fits"].get<std::string>();
  };
  EXPECT_EQ(fits(10e9, 80e9), "yes");
  EXPECT_EQ(fits(10e9, 81e9), "perhaps");
  EXPECT_EQ(fits(81e9, 90e9), "no");
}

TEST(PredictionsCsv, HasTheRowsOfTheJson) {
  const std::vector<advice::PredictionRow> rows = {Row(), Row("other.onnx")};
  const auto lines = Fields(PredictionsCsv(rows, 2.5));
  const json document = Parsed(rows, 2.5);
  ASSERT_EQ(lines.size(), 3U);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const json& row = document["predictions"][r];
    ASSERT_EQ(lines[r + 1].size(), row.size());
    for (std::size_t c = 0; c < lines[0].size(); ++c) {
      const json& value = row.at(lines[0][c]);
      if (value.is_number()) {
        EXPECT_EQ(std::stod(lines[r + 1][c]), value.get<double>()) << lines[0][c];
      } else if (value.is_string()) {
        EXPECT_EQ(lines[r + 1][c], value.get<std::string>()) << lines[0][c];
      }
    }
  }
}

TEST(PredictionTable, SaysWhatIsNotKnown) {
  advice::PredictionRow row = Row();
  const std::string known = PredictionTable(row, {});
  EXPECT_THAT(known, HasSubstr("GPU busy"));
  EXPECT_THAT(known, HasSubstr("nearest known: tv:resnet50@224"));
  EXPECT_THAT(known, Not(HasSubstr("twice as wide")));
  row.prediction.model_known = false;
  EXPECT_THAT(PredictionTable(row, {}), HasSubstr("unlike all that was learnt from"));
  row = Row();
  row.prediction.gpu_known = false;
  EXPECT_THAT(PredictionTable(row, {}), HasSubstr("Nothing was learnt on H200"));
  row.prediction.precision_native = false;
  EXPECT_THAT(PredictionTable(row, {}), HasSubstr("H200 does not compute in bf16"));
  row = Row();
  row.uncosted = 2;
  EXPECT_THAT(PredictionTable(row, {}), HasSubstr("2 operators could not be costed"));
  row.ask.gpus = 8;
  EXPECT_THAT(PredictionTable(row, {}), HasSubstr("on 8 H200"));
}

TEST(PredictionTable, ShortStepsAreToldApart) {
  advice::PredictionRow row = Row();
  row.prediction.figures[Index(Figure::kStepSeconds)] = {{0.00123, 0.0009, 0.0015}};
  const std::string text = PredictionTable(row, {});
  for (const char* time : {"1.23 ms", "0.90 ms", "1.50 ms"}) EXPECT_THAT(text, HasSubstr(time));
}

TEST(PredictionsTable, HasALineAModelWithoutItsFolder) {
  const std::string text = PredictionsTable({Row("nets/a.onnx"), Row("nets/b.onnx")});
  EXPECT_THAT(text, HasSubstr("\na.onnx "));
  EXPECT_THAT(text, HasSubstr("\nb.onnx "));
  EXPECT_THAT(text, HasSubstr("75.0 %"));
}

advice::SpeedRow Speed(const std::string& group) {
  advice::SpeedRow row;
  row.ask.group = group;
  row.ask.profile = "tv:vgg16@224";
  row.ask.sm_share = 0.8;
  row.speed = {{0.75, 0.5, 0.875}};
  row.fits = false;
  row.demand_measured = true;
  return row;
}

TEST(SpeedsJson, HasTheSpeedOfEachWithItsBounds) {
  const json document = json::parse(SpeedsJson({Speed("a"), Speed("")}));
  EXPECT_EQ(document["schema"], 1);
  const json& row = document["predictions"][0];
  EXPECT_EQ(row["sm_share"], 0.8);
  EXPECT_EQ(row["speed_p50"], 0.75);
  EXPECT_EQ(row["speed_p05"], 0.5);
  EXPECT_EQ(row["speed_p95"], 0.875);
  EXPECT_EQ(row["speed_source"], "predicted");
  EXPECT_EQ(row["demand_source"], "observed");
  EXPECT_EQ(row["memory_fits"], false);
  EXPECT_EQ(row["profile"], "tv:vgg16@224");
  EXPECT_TRUE(row["model"].is_null());
  EXPECT_TRUE(document["predictions"][1]["group"].is_null());
}

TEST(SpeedsCsv, WritesWhatIsUnknownAsNothing) {
  const auto lines = Fields(SpeedsCsv({Speed("a")}));
  ASSERT_EQ(lines.size(), 2U);
  const auto at = [&](const std::string& column) {
    const auto found = std::find(lines[0].begin(), lines[0].end(), column);
    return lines[1].at(static_cast<std::size_t>(found - lines[0].begin()));
  };
  EXPECT_EQ(at("model"), "");
  EXPECT_EQ(at("speed_p50"), "0.75");
  EXPECT_EQ(at("memory_fits"), "false");
}

TEST(SpeedsTable, StandsInGroups) {
  EXPECT_EQ(SpeedsTable({Speed("a"), Speed("a"), Speed("b")}),
            "group  job           batch  SM share  speed   5 %  95 %  source     memory fits\n"
            "─────  ────────────  ─────  ────────  ─────  ────  ────  ─────────  ───────────\n"
            "a      tv:vgg16@224      1      80 %   0.75  0.50  0.88  predicted  no\n"
            "a      tv:vgg16@224      1      80 %   0.75  0.50  0.88  predicted  no\n\n"
            "b      tv:vgg16@224      1      80 %   0.75  0.50  0.88  predicted  no\n\n"
            "Speed 1 is the job's pace alone on that GPU with all SMs.\n");
}

advice::Inspection Inspected() {
  advice::Inspection in;
  in.file = "net.onnx";
  in.format = "ONNX opset 17";
  in.precision = "bf16";
  in.optimizer = "adamw";
  in.batch = 8;
  in.macs_per_sample = 4.09e9;
  in.params = 25'557'032;
  in.nodes = 175;
  in.peak = 2e9;
  in.layers.resize(2);
  in.layers[0].name = "small";
  in.layers[0].flops_forward = 1e6;
  in.layers[1].name = "large";
  in.layers[1].shape = "8x64x56x56";
  in.layers[1].flops_forward = 3e6;
  in.uncosted = {{"odd", "Custom", "is not known"}};
  in.counts = {{"conv", 1}, {"activation", 1}, {"unknown", 1}};
  return in;
}

TEST(InspectionJson, HasTheTotalsTheLayersAndWhatCouldNotBeCosted) {
  const json document = json::parse(InspectionJson(Inspected()));
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["macs_forward_per_sample"], 4.09e9);
  EXPECT_EQ(document["params"], 25'557'032);
  EXPECT_EQ(document["nodes"], 175);
  EXPECT_EQ(document["peak_memory_bytes"], 2e9);
  EXPECT_EQ(document["uncosted_nodes"],
            json::parse(R"([{"name":"odd","type":"Custom","why":"is not known"}])"));
  ASSERT_EQ(document["layers"].size(), 2U);
  EXPECT_EQ(document["layers"][0]["name"], "small") << "in the order they run";
  EXPECT_TRUE(document["layers"][0]["output"].is_null());
  EXPECT_EQ(document["layers"][1]["output"], "8x64x56x56");
  EXPECT_EQ(document["operators"]["conv"], 1);
  EXPECT_TRUE(document["producer"].is_null());
}

TEST(InspectionTable, ShowsTheCostliestFirstAndNoMoreThanAskedFor) {
  const std::string two = InspectionTable(Inspected(), 10);
  EXPECT_LT(two.find("large"), two.find("small"));
  EXPECT_THAT(two, HasSubstr("75.0 %"));
  EXPECT_THAT(InspectionTable(Inspected(), 1), Not(HasSubstr("small")));
  EXPECT_THAT(two, StartsWith("net.onnx: ONNX opset 17\nbatch 8, bf16, training with adamw\n"));
  EXPECT_THAT(two, HasSubstr("25.6 M parameters, 4.09 G MACs a sample"));
}

TEST(InspectionTable, ListsWhatCouldNotBeCostedWithTheReason) {
  EXPECT_THAT(
      InspectionTable(Inspected(), 1),
      HasSubstr(
          "1 operator could not be costed and counts as nothing:\n  Custom odd: is not known\n"));
  advice::Inspection whole = Inspected();
  whole.uncosted.clear();
  EXPECT_THAT(InspectionTable(whole, 1), HasSubstr("Every operator was costed."));
}

TEST(InspectionTable, InferenceHasNoRowsOfTraining) {
  advice::Inspection in = Inspected();
  in.optimizer.clear();
  const std::string text = InspectionTable(in, 1);
  EXPECT_THAT(text, HasSubstr("inference"));
  EXPECT_THAT(text, Not(HasSubstr("backward")));
  EXPECT_THAT(text, Not(HasSubstr("gradients")));
}

TEST(PredictionReport, SaysWhichHostStepTimesAreFor) {
  advice::PredictionRow row = Row();
  EXPECT_THAT(PredictionTable(row, std::nullopt), HasSubstr("host: the one that was learnt on"));
  json out = json::parse(PredictionsJson({row}, std::nullopt))["predictions"][0];
  EXPECT_EQ(out["host"], "reference");
  EXPECT_EQ(out["host_time"], 1);
  EXPECT_TRUE(out["host_launches_per_second"].is_null());
  row.ask.host = {.time = 1.5, .here = true, .launches = 50'000, .reference_launches = 108'887};
  EXPECT_THAT(PredictionTable(row, std::nullopt),
              HasSubstr("host: this machine, which takes 1.50 times as long"));
  out = json::parse(PredictionsJson({row}, std::nullopt))["predictions"][0];
  EXPECT_EQ(out["host"], "this machine");
  EXPECT_EQ(out["host_time"], 1.5);
  EXPECT_EQ(out["host_launches_per_second"], 50'000);
  EXPECT_EQ(out["reference_launches_per_second"], 108'887);
}

}  // namespace
}  // namespace sharewell::report
