#include "predict/trained.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "predict/features.h"
#include "predict/test_world.h"

namespace sharewell::predict {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const TestWorld& World() {
  static const TestWorld world;
  return world;
}

ColocationModel Neighbours() {
  std::vector<Colocation> groups;
  for (int k = 0; k < 30; ++k) {
    Resident a, b;
    a.workload = {"a" + std::to_string(k), 16, "bf16", 4};
    b.workload = {"b" + std::to_string(k % 7), 16, "bf16", 4};
    a.demand.known = b.demand.known = true;
    a.demand.busy = b.demand.busy = 0.9;
    a.demand.sm = 0.02 * k;
    a.step = b.step = core::Seconds(0.03);
    groups.push_back({{a, b}, {0.9 - 0.01 * k, 0.8 - 0.005 * k}});
  }
  return ColocationModel::Fit(groups).value();
}

const Trained& Whole() {
  static const Trained trained{Train(World().rows, {}).value(), Neighbours()};
  return trained;
}
// Of a learner that writes little: it is read for each thing that can be wrong.
const std::string& Text() {
  static const std::string text =
      Write({Train(World().rows, {.learner = "linear", .folds = 2}).value(), Whole().together});
  return text;
}

std::string ErrorOf(std::string_view text) {
  const auto read = ReadTrained(text);
  if (read) return "no error";
  EXPECT_EQ(read.error().kind, core::ErrorKind::kUsage);
  return read.error().message;
}

// The message for our text with one thing changed.
template <class Change>
std::string After(Change change) {
  json value = json::parse(Text());
  change(value);
  return ErrorOf(value.dump());
}

void ExpectSameBits(const Value& a, const Value& b) {
  EXPECT_EQ(a.median, b.median);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.source, b.source);
}

TEST(Trained, WrittenAndReadItPredictsTheSameBits) {
  const std::string text = Write(Whole());
  const auto read = ReadTrained(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(Write(*read), text);
  core::GpuModel unknown = World().gpu;
  unknown.name = "T2";
  const graph::Graph fresh = TestGraph(ImageList(40, 5), 24);
  std::vector<Query> queries{TestQuery(fresh, World().gpu), TestQuery(fresh, unknown)};
  for (const Row& row : World().rows) queries.push_back(row.query);
  for (const Query& query : queries) {
    const Prediction ours = Whole().predictor.Predict(query);
    const Prediction theirs = read->predictor.Predict(query);
    for (std::size_t f = 0; f < kFigures; ++f) ExpectSameBits(ours.figures[f], theirs.figures[f]);
    ExpectSameBits(ours.energy, theirs.energy);
    EXPECT_EQ(ours.gpu_known, theirs.gpu_known);
    EXPECT_EQ(ours.model_known, theirs.model_known);
    EXPECT_EQ(ours.nearest[0].name, theirs.nearest[0].name);
    EXPECT_EQ(ours.nearest[0].distance, theirs.nearest[0].distance);
  }
  const Known* known = read->predictor.Find("wide-net", 32, "bf16", 4);
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->measured, World().rows[5].measured);
  ASSERT_TRUE(read->together);
  EXPECT_EQ(read->together->state(), Whole().together->state());
}

TEST(Trained, TheShippedModelIsWrittenByteByByteAsItWasRead) {
  std::ifstream file("data/h200/model.json", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto read = ReadTrained(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(Write(*read) == text);
}

TEST(Trained, WithoutPairsItIsReadToo) {
  const auto read = ReadTrained(Write(Trained{Whole().predictor, std::nullopt}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(read->together);
}

TEST(Trained, APredictorThatLearntNothingIsReadToo) {
  const auto analytic = Train(World().rows, {.learner = "analytic", .folds = 2});
  ASSERT_TRUE(analytic);
  const auto read = ReadTrained(Write(Trained{*analytic, std::nullopt}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->predictor.residual(Figure::kMemory), nullptr);
}

TEST(Trained, CutShortAnywhereItIsRefusedWithWhatToDo) {
  for (const double share : {0.0, 1e-4, 0.01, 0.3, 0.7, 0.999}) {
    const std::string error = ErrorOf(
        Text().substr(0, static_cast<std::size_t>(share * static_cast<double>(Text().size()))));
    EXPECT_THAT(error,
                AllOf(HasSubstr("damaged"), HasSubstr("`sharewell-lab train` makes a new one")))
        << share;
  }
}

TEST(Trained, WhatIsSomethingElseIsToldBy) {
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("a list is no object"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("format: is missing"));
  EXPECT_THAT(After([](json& v) { v["format"] = "sharewell-learned"; }),
              HasSubstr("its format is \"sharewell-learned\", not \"sharewell-model\""));
  EXPECT_THAT(After([](json& v) { v["version"] = 4; }),
              HasSubstr("of version 4, this program reads versions 1 to 3"));
  EXPECT_THAT(After([](json& v) { v["version"] = "1"; }),
              HasSubstr("version: '1' is no whole number"));
}

TEST(Trained, EveryPartMustBeThere) {
  for (const char* key :
       {"format", "version", "gpus", "means", "factors", "far", "figures", "known", "together"}) {
    EXPECT_THAT(After([&](json& v) { v.erase(key); }),
                HasSubstr(fmt::format("{}: is missing", key)));
  }
  for (const char* key : {"workload", "batch", "precision", "workers", "gpu", "family", "place",
                          "measured", "held_out"}) {
    EXPECT_THAT(After([&](json& v) { v["known"][3].erase(key); }), HasSubstr(key));
  }
  for (const std::string_view name : kFigureNames) {
    EXPECT_THAT(After([&](json& v) { v["figures"].erase(std::string(name)); }),
                HasSubstr(std::string(name)));
  }
  EXPECT_THAT(After([](json& v) { v["figures"]["power"].erase("interval"); }),
              HasSubstr("interval"));
}

TEST(Trained, NumbersThatAreNoneAreRefused) {
  // JSON has no NaN: written by a careless program it is null, or no JSON at all.
  EXPECT_THAT(After([](json& v) { v["means"][0] = nullptr; }), HasSubstr("means: has null in it"));
  EXPECT_THAT(After([](json& v) { v["factors"][0] = "NaN"; }),
              HasSubstr("factors: has 'NaN' in it"));
  EXPECT_THAT(After([](json& v) { v["known"][0]["place"][0] = 1e200; }),
              HasSubstr("known[0].place: has"));
  EXPECT_THAT(After([](json& v) { v["known"][0]["measured"][0] = 1e200; }),
              HasSubstr("known[0].measured: 1e+200"));
  EXPECT_THAT(After([](json& v) { v["known"][0]["held_out"][0] = "1"; }),
              HasSubstr("known[0].held_out: '1' is no number"));
  EXPECT_THAT(After([](json& v) { v["far"] = 0; }), HasSubstr("far: 0 is not from 1e-09 to"));
  EXPECT_THAT(After([](json& v) { v["known"][0]["batch"] = -1; }),
              HasSubstr("batch: -1 is not from 0"));
  EXPECT_THAT(ErrorOf("{\"format\":\"sharewell-model\",\"version\":1,\"far\":NaN}"),
              HasSubstr("damaged"));
}

TEST(Trained, CountsThatDoNotAgreeAreRefused) {
  EXPECT_THAT(After([](json& v) { v["means"].push_back(0); }), HasSubstr("means: has"));
  EXPECT_THAT(After([](json& v) { v["factors"].erase(0); }), HasSubstr("factors: has"));
  EXPECT_THAT(After([](json& v) { v["known"][0]["place"].erase(0); }), HasSubstr("place: has"));
  EXPECT_THAT(After([](json& v) { v["known"][0]["measured"].erase(0); }),
              HasSubstr("measured: has not"));
  EXPECT_THAT(After([](json& v) { v["known"] = 3; }), HasSubstr("known: 3 is no list"));
  EXPECT_THAT(After([](json& v) { v["gpus"] = {1}; }), HasSubstr("gpus: 1 is no text"));
}

TEST(Trained, LearntFromOtherFeaturesItIsRefusedByTheFiguresName) {
  EXPECT_THAT(After([](json& v) {
                v["figures"]["power"]["residual"] = v["figures"]["gpu_memory"]["residual"];
              }),
              HasSubstr("power was learnt from other features than this version has"));
}

TEST(Trained, DamageInsideAPartIsFoundToo) {
  EXPECT_THAT(After([](json& v) { v["figures"]["power"]["residual"] = json::object(); }),
              HasSubstr("damaged"));
  EXPECT_THAT(After([](json& v) { v["figures"]["power"]["interval"]["levels"] = {2}; }),
              HasSubstr("damaged"));
  EXPECT_THAT(After([](json& v) {
                v["together"]["companies"][0]["who"] = {0, 99999};
              }),
              HasSubstr("resident"));
}

TEST(Trained, ThePredictorAloneIsTheSame) {
  const auto predictor = ReadPredictor(Text());
  ASSERT_TRUE(predictor) << predictor.error().message;
  const auto whole = ReadTrained(Text());
  ASSERT_TRUE(whole);
  EXPECT_EQ(Write({*predictor, std::nullopt}), Write({whole->predictor, std::nullopt}));
  EXPECT_FALSE(ReadPredictor("{}"));
}

}  // namespace
}  // namespace sharewell::predict
