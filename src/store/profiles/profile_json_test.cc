#include "store/profiles/profile_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sharewell::store {
namespace {

using testing::HasSubstr;
using testing::Not;

core::ProfileRecord Full() {
  core::ProfileRecord record;
  record.name = "resnet \"50\" \\ µ\n";
  record.created = 1'700'000'000'123;
  record.source = "sweep";
  record.profile.workload = {"tv:resnet50@224", 64, "bf16", 8};
  record.profile.gpu = "H200";
  record.profile.steps_per_second = 1.0 / 3;
  record.profile.busy = 0.1;
  record.profile.gpu_memory = core::Bytes(8e9 + 1);
  record.profile.power = core::Watts(5e-324);
  record.profile.kernel_time = core::Seconds(2.5e-5);
  record.profile.kernels = 941;
  record.profile.cpu_curve = {{1, 0.1}, {2.5, 1}};
  record.command = {"sh", "-c", ""};
  record.environment = {{"cpu", "x"}, {"cpu", "y"}};
  record.figures = {{.metric = "a",
                     .instance = "0",
                     .unit = "1",
                     .mean = -0.0,
                     .most = 1e308,
                     .readings = 9'007'199'254'740'993}};
  record.kernels.resize(2);
  record.kernels[1].dram_read = core::BytesPerSecond(1e12);
  record.repeats = 3;
  record.settled = true;
  record.uncertainty = 0.02;
  record.exit_code = -9;
  record.notes = {"a", "b"};
  return record;
}

TEST(ProfileJson, ComesBackAsItWas) {
  for (const auto& record : {core::ProfileRecord(), Full()}) {
    const auto back = ProfileFromJson(ProfileToJson(record));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, record);
  }
}

TEST(ProfileJson, WhatIsUnknownIsLeftOut) {
  core::ProfileRecord record;
  record.profile.sm = std::numeric_limits<double>::quiet_NaN();
  record.profile.cpu_curve = {{1, std::numeric_limits<double>::infinity()}};
  const std::string text = ProfileToJson(record);
  EXPECT_THAT(text, Not(HasSubstr("\"sm\"")));
  EXPECT_THAT(text, Not(HasSubstr("null")));
  const auto back = ProfileFromJson(text);
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->profile.sm);
}

TEST(ProfileJson, KeysOfANewerProgramArePassedOver) {
  const auto back =
      ProfileFromJson(R"({"name":"a","colour":{"x":[1]},"figures":[{"metric":"m","new":1}]})");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->name, "a");
  EXPECT_EQ(back->figures.at(0).metric, "m");
}

TEST(ProfileJson, WhatIsNoProfileIsRefusedWithItsPlace) {
  const auto error = [](std::string_view text) {
    const auto back = ProfileFromJson(text);
    return back ? "read" : back.error().message;
  };
  EXPECT_THAT(error("{"), HasSubstr("no JSON"));
  EXPECT_THAT(error("[]"), HasSubstr("a list is no object"));
  EXPECT_THAT(error(R"({"name":1})"), HasSubstr("name: 1 is no text"));
  EXPECT_THAT(error(R"({"figures":[{"mean":"x"}]})"),
              HasSubstr("figures[].mean: 'x' is no number"));
  EXPECT_THAT(error(R"({"batch":1e3})"), HasSubstr("batch: 1000.0 is no whole number"));
  EXPECT_THAT(error(R"({"batch":99999999999})"), HasSubstr("batch"));
  EXPECT_THAT(error(R"({"created_ms":18446744073709551615})"), HasSubstr("created_ms"));
  EXPECT_THAT(error(R"({"cpu_curve":[[1]]})"), HasSubstr("cpu_curve"));
  EXPECT_THAT(error(std::string(40, '[') + std::string(40, ']')), HasSubstr("nested deeper"));
}

TEST(ProfileJson, BrokenTextBecomesWhole) {
  core::ProfileRecord record;
  record.name = "a\xff";
  record.notes = {std::string("b\0c", 3)};
  const auto back = ProfileFromJson(ProfileToJson(record));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->name, "a\xef\xbf\xbd");
  EXPECT_EQ(back->notes.at(0), std::string("b\0c", 3));
}

}  // namespace
}  // namespace sharewell::store
