#include "predict/learn/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "predict/learn/test_tables.h"

namespace sharewell::predict::learn {
namespace {

using nlohmann::json;
using testing::HasSubstr;

LearnerSpec Small(std::string_view kind, int trees) {
  LearnerSpec spec = Grid(kind)->back();
  if (auto* boosted = std::get_if<BoostingOptions>(&spec.options)) boosted->rounds = trees;
  if (auto* forest = std::get_if<ForestOptions>(&spec.options)) forest->trees = trees;
  if (auto* mean = std::get_if<MeanOptions>(&spec.options)) {
    mean->members = {Small("boosted", trees), Small("gaussian", trees), Small("linear", trees)};
  }
  return spec;
}

Table WithGaps() {
  Table table = Friedman(100, 5, 1);
  for (std::size_t i = 0; i < table.values.size(); i += 11) table.values[i] = kUnknownValue;
  return table;
}

class RoundTrip : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Kinds, RoundTrip, testing::ValuesIn(Kinds()),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(RoundTrip, PredictsTheSameBits) {
  const auto regressor = Fit(Small(GetParam(), 20), WithGaps());
  ASSERT_TRUE(regressor);
  const std::string text = Write(*regressor);
  const auto again = ReadRegressor(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *regressor);
  EXPECT_EQ(Write(*again), text);
  const Table other = Friedman(200, 5, 9);
  for (std::size_t i = 0; i < other.rows(); ++i) {
    EXPECT_EQ(again->Predict(other.Row(i)), regressor->Predict(other.Row(i)));
    EXPECT_EQ(again->Spread(other.Row(i)), regressor->Spread(other.Row(i)));
  }
}

// Every number, list and object of the model in turn is replaced by something else: read, or
// refused with a reason, and what was read answers without falling over.
TEST_P(RoundTrip, DamageIsRefusedOrHarmless) {
  const Table table = Friedman(12, 3, 1);
  const json whole = json::parse(Write(*Fit(Small(GetParam(), 2), table))).flatten();
  ASSERT_GT(whole.size(), 10u);
  for (const auto& item : whole.items()) {
    for (const json& other : {json(-5), json(1e6), json(3.5), json(1e300), json(nullptr), json("x"),
                              json(true), json::array(), json::object()}) {
      json damaged = whole.unflatten();
      damaged[json::json_pointer(item.key())] = other;
      const auto read = ReadRegressor(damaged.dump());
      if (!read) {
        EXPECT_THAT(read.error().message, HasSubstr("`sharewell-lab train` makes a new one"));
        EXPECT_EQ(read.error().kind, core::ErrorKind::kUsage);
      } else if (read->features().size() == 3) {
        read->Predict(table.Row(0));
        read->Spread(table.Row(0));
        read->Importance();
      }
    }
  }
}

json Step() {
  BoostingOptions options;
  options.rounds = 1;
  options.depth = 1;
  return json::parse(Write(*Fit({options}, Line(4, [](double x) { return x < 2 ? 0.0 : 1.0; }))));
}

std::string Complaint(const json& value) {
  const auto read = ReadRegressor(value.dump());
  return read ? "nothing is wrong" : read.error().message;
}

TEST(ReadRegressor, TheTextIsCompactAndPlain) {
  Table table = Named(1);
  table.features[0] = "a \"b\"";
  for (double x : {0.0, 1.0}) table.Add(std::vector{x}, x - 0.25);
  BoostingOptions options;
  options.rounds = 1;
  options.depth = 1;
  options.eta = 0.5;
  options.lambda = 0;
  EXPECT_EQ(Write(*Fit({options}, table)),
            R"({"format":"sharewell-learned","version":1,"features":["a \"b\""],"model":)"
            R"({"kind":"trees","base":0.25,"members":1,"importance":[1],"trees":)"
            R"([{"feature":[0,-1,-1],"value":[0.5,-0.25,0.25]}]}})");
}

TEST(ReadRegressor, SaysWhatIsNotAModel) {
  EXPECT_THAT(ReadRegressor("").error().message, HasSubstr("learned model is damaged"));
  EXPECT_THAT(ReadRegressor("[1, 2").error().message, HasSubstr("damaged"));
  EXPECT_THAT(ReadRegressor("[]").error().message, HasSubstr("a list is no object"));
  EXPECT_THAT(ReadRegressor("{}").error().message, HasSubstr("format: is missing"));
  EXPECT_THAT(ReadRegressor(std::string(100'000, '[')).error().message, HasSubstr("damaged"));
}

TEST(ReadRegressor, ChecksFormatAndVersion) {
  json other = Step();
  other["version"] = 2;
  EXPECT_THAT(Complaint(other), HasSubstr("of version 2; this program reads version 1"));
  other["format"] = "xgboost";
  EXPECT_THAT(Complaint(other), HasSubstr("format is \"xgboost\""));
  json extra = Step();
  extra["note"] = "hello";
  EXPECT_THAT(Complaint(extra), HasSubstr("'note' is no key that is known here"));
}

TEST(ReadRegressor, ChecksThatTreesHangTogether) {
  const auto with = [](const char* features, const char* values) {
    json model = Step();
    model["model"]["trees"][0] = {{"feature", json::parse(features)},
                                  {"value", json::parse(values)}};
    return Complaint(model);
  };
  EXPECT_EQ(with("[0, -1, -1]", "[2, 0, 1]"), "nothing is wrong");
  EXPECT_THAT(with("[]", "[]"), HasSubstr("at least one node"));
  EXPECT_THAT(with("[0, -1, -1]", "[2, 0]"), HasSubstr("3 features for 2 values"));
  EXPECT_THAT(with("[0, -1]", "[2, 0]"), HasSubstr("children are missing"));
  EXPECT_THAT(with("[-1, 0, 0]", "[2, 0, 1]"), HasSubstr("children are missing"));
  EXPECT_THAT(with("[0, 0, 0]", "[2, 0, 1]"), HasSubstr("children are missing"));
  EXPECT_THAT(with("[-1, -1, -1]", "[2, 0, 1]"), HasSubstr("2 nodes that no split leads to"));
  EXPECT_THAT(with("[2, -1, -1]", "[2, 0, 1]"), HasSubstr("asks for feature 2 / 2 of 1"));
  EXPECT_THAT(with("[0.5, -1, -1]", "[2, 0, 1]"), HasSubstr("asks for feature 0.5"));
  EXPECT_THAT(with("[-2, -1, -1]", "[2, 0, 1]"), HasSubstr("asks for feature -2"));
  EXPECT_THAT(with("[0, -1, -1]", "[2, 0, null]"), HasSubstr("trees[0]: value: has null in it"));
  EXPECT_THAT(with("[0, -1, -1]", "[2, 0, 1e200]"), HasSubstr("a leaf of a tree answers 1e+200"));
}

TEST(ReadRegressor, ChecksCounts) {
  json model = Step();
  model["model"]["members"] = 2;
  EXPECT_THAT(Complaint(model), HasSubstr("1 trees cannot be shared out to 2 members"));
  model["model"]["members"] = 1e18;
  EXPECT_THAT(Complaint(model), HasSubstr("model.members: 1e+18 is no whole number"));
  model = Step();
  model["features"].push_back("b");
  EXPECT_THAT(Complaint(model), HasSubstr("model.importance: has 1 entries, and needs 2"));
}

TEST(ReadRegressor, RefusesAMeanOfMeans) {
  json model = Step();
  const json inner = {{"kind", "mean"}, {"members", json::array({model["model"]})}};
  model["model"] = {{"kind", "mean"}, {"members", json::array({inner})}};
  EXPECT_THAT(Complaint(model),
              HasSubstr("members[0].kind: there is no kind of model \"mean\" here"));
  model["model"]["members"] = json::array();
  EXPECT_THAT(Complaint(model), HasSubstr("a mean has no members"));
}

TEST(ReadConformal, RoundTrips) {
  std::vector<Residual> residuals;
  for (int i = 0; i < 100; ++i) residuals.push_back({0.1 * i, i % 4 == 0 ? "vit" : "resnet", 1});
  const auto conformal = Calibrate(residuals, {});
  const auto again = ReadConformal(Write(*conformal));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *conformal);
}

TEST(ReadConformal, SaysWhatIsDamaged) {
  const auto message = [](std::string_view text) { return ReadConformal(text).error().message; };
  EXPECT_THAT(message("{}"), HasSubstr("calibration is damaged: levels: is missing"));
  EXPECT_THAT(message(R"({"levels": [], "pooled": [], "families": {}})"), HasSubstr("no levels"));
  std::string many = "0";
  for (int i = 0; i < 1000; ++i) many += ",1";
  EXPECT_THAT(message("{\"levels\": [" + many + "], \"pooled\": [], \"families\": {}}"),
              HasSubstr("levels: has 1001 entries, and 1000 is the most"));
  EXPECT_THAT(message(R"({"levels": [0.5, 0.1], "pooled": [1, 2], "families": {}})"),
              HasSubstr("do not ascend"));
  EXPECT_THAT(message(R"({"levels": [0.5], "pooled": [1], "families": {"a": []}})"),
              HasSubstr("families.a: has 0 entries, and needs 1"));
}

TEST(Serialize, AGaussianOfAnOlderProgramHasNoSolutionAndAnswersTheSameBits) {
  const auto regressor = Fit(Small("gaussian", 1), Friedman(60, 5, 1));
  ASSERT_TRUE(regressor);
  json text = json::parse(Write(*regressor));
  ASSERT_EQ(text["model"].erase("solution"), 1u);
  const auto older = ReadRegressor(text.dump());
  ASSERT_TRUE(older) << older.error().message;
  const Table other = Friedman(50, 5, 9);
  for (std::size_t i = 0; i < other.rows(); ++i) {
    EXPECT_EQ(older->Predict(other.Row(i)), regressor->Predict(other.Row(i)));
  }
}

}  // namespace
}  // namespace sharewell::predict::learn
