#include "predict/colocation/colocation_file.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace sharewell::predict {
namespace {

using ::testing::HasSubstr;

Resident Job(const std::string& name, double sm) {
  Resident resident;
  resident.workload = {name, 16, "bf16", 4};
  resident.demand.known = true;
  resident.demand.busy = 0.9;
  resident.demand.sm = sm;
  resident.demand.dram = 0.3;
  resident.demand.cpu_cores = 2.5;
  resident.step = core::Seconds(1 / 37.0);
  resident.demand.kernel_time = core::Seconds(2.5e-5);
  return resident;
}

ColocationModel Fitted() {
  std::vector<Colocation> groups;
  for (int k = 0; k < 30; ++k) {
    groups.push_back(
        {{Job("a" + std::to_string(k), 0.02 * k), Job("b" + std::to_string(k % 7), 0.5)},
         {0.9 - 0.01 * k, 0.8 - 0.005 * k}});
  }
  groups[0].residents[0].sm_share = 0.8;
  auto together = ColocationModel::Fit(groups);
  EXPECT_TRUE(together) << together.error().message;
  return *std::move(together);
}

nlohmann::json Parsed() { return nlohmann::json::parse(Write(Fitted())); }

std::string ErrorOf(const nlohmann::json& json) {
  const auto read = ReadColocations(json.dump());
  return read ? "no error" : read.error().message;
}

TEST(ColocationFile, WrittenAndReadItAnswersTheSameBits) {
  const ColocationModel fitted = Fitted();
  const std::string text = Write(fitted);
  const auto read = ReadColocations(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->state(), fitted.state());
  EXPECT_EQ(Write(*read), text);
  const std::vector<Resident> pair{Job("x", 0.33), Job("b1", 0.5)};
  EXPECT_EQ(read->Speeds(pair)[0].median, fitted.Speeds(pair)[0].median);
  EXPECT_EQ(read->Speeds(pair)[1].low, fitted.Speeds(pair)[1].low);
}

TEST(ColocationFile, WithoutCalibrationItIsReadToo) {
  const auto bare = ColocationModel::FitUncalibrated(
      std::vector<Colocation>{{{Job("a", 0.3), Job("b", 0.4)}, {0.7, 0.8}}});
  ASSERT_TRUE(bare);
  EXPECT_TRUE(ReadColocations(Write(*bare)));
}

TEST(ColocationFile, DamageIsToldNotTrusted) {
  EXPECT_FALSE(ReadColocations("{"));
  EXPECT_FALSE(ReadColocations("[]"));
  auto json = Parsed();
  json["version"] = 1;
  EXPECT_THAT(ErrorOf(json), HasSubstr("another version"));
  json = Parsed();
  json["companies"][0]["who"] = {0, 99999};
  EXPECT_THAT(ErrorOf(json), HasSubstr("names resident"));
  json = Parsed();
  json["companies"][0]["who"] = {1, 0};
  EXPECT_THAT(ErrorOf(json), HasSubstr("ascending"));
  json = Parsed();
  json["companies"][0]["speeds"] = {0.5};
  EXPECT_THAT(ErrorOf(json), HasSubstr("speeds"));
  json = Parsed();
  json["residents"][0]["sm"] = 1.5;
  EXPECT_THAT(ErrorOf(json), HasSubstr("sm"));
  json = Parsed();
  json["of_measured"]["levels"] = {0.1, 0.9};
  EXPECT_THAT(ErrorOf(json), HasSubstr("0.05"));
  json = Parsed();
  json["residents"][0]["sm_share"] = 2;
  EXPECT_THAT(ErrorOf(json), HasSubstr("sm_share"));
  json = Parsed();
  json["coefficients"].erase("room");
  EXPECT_THAT(ErrorOf(json), HasSubstr("room"));
  json = Parsed();
  json.erase("repeat");
  EXPECT_THAT(ErrorOf(json), HasSubstr("repeat"));
}

}  // namespace
}  // namespace sharewell::predict
