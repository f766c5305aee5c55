#include "store/jobs/sql_speeds.h"

#include <gtest/gtest.h>

#include <string>

namespace sharewell::store {
namespace {

using core::SpeedHistory;

SpeedHistory LongHistory() {
  SpeedHistory history;
  constexpr core::UnixMillis kBegin = 1'700'000'000'000;
  for (int t = 0; t < 10'000; ++t) {
    const core::UnixMillis now = kBegin + t * core::UnixMillis{1003};
    history.Count({kBegin, 0.25}, {now, 0.25 + t / 3.0}, kBegin);
    history.Look(now,
                 t % 700 < 300 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{t / 700});
    history.Hear({"loss", now, 2.5 / (1 + t), t});
    history.Hear({"acc", now, 0.5, {}});
  }
  return history;
}

TEST(SpeedJsonTest, ComesBackAsItWas) {
  const SpeedHistory history = LongHistory();
  const std::string text = SpeedToJson(history);
  EXPECT_LT(text.size(), 40'000U) << "it stands beside a record of a kilobyte or two";
  const auto again = SpeedFromJson(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->points(), history.points());
  EXPECT_EQ(again->beside(), history.beside());
  EXPECT_EQ(again->last(), history.last());
  ASSERT_EQ(again->metrics().all().size(), 2U);
  for (const std::size_t i : {0U, 1U}) {
    const core::JobMetric &now = again->metrics().all()[i], &then = history.metrics().all()[i];
    EXPECT_EQ(now.last, then.last);
    EXPECT_EQ(now.points.points(), then.points.points());
  }
  EXPECT_EQ(SpeedFromJson(SpeedToJson({}))->points().size(), 0U);
  EXPECT_TRUE(SpeedFromJson(R"({"points":[[5,10,10,2.5]],"of_a_newer_program":[1]})"));
}

TEST(SpeedJsonTest, WhatIsDamagedIsNone) {
  for (const char* text : {
           "",
           "[]",
           "3",
           R"({"points":[[1,2]]})",
           R"({"points":[[1,2,2,"x"]]})",
           R"({"points":[[1,-2,1,1]]})",
           R"({"points":[[1,2,3,1]]})",
           R"({"points":[[9223372036854775807,1,1,1]]})",
           R"({"points":[[4503599627370496,4503599627370496,1,1]]})",
           R"({"points":[1,2,3]})",
           R"({"points":[[1,1e9,1,1]]})",
           R"({"beside":[[1]]})",
           R"({"beside":[[1,2,"x"]]})",
           R"({"beside":[[1,2,-3]]})",
           R"({"last":[1]})",
           R"({"last":[-1,2]})",
           R"({"metrics":[3]})",
           R"({"metrics":[{"name":"loss","at":5,"value":1}]})",
           R"({"metrics":[{"name":"lo ss","at":5,"value":1,"points":[[5,0,1,1]]}]})",
           R"({"metrics":[{"name":"loss","at":-5,"value":1,"points":[[5,0,1,1]]}]})",
           R"({"metrics":[{"name":"loss","at":5,"value":"x","points":[[5,0,1,1]]}]})",
           R"({"metrics":[{"name":"loss","at":5,"value":1,"points":[[5,0,1]]}]})",
           R"({"metrics":[{"name":"loss","at":5,"value":1,"points":[[5,0,0,1]]}]})",
       }) {
    EXPECT_FALSE(SpeedFromJson(text)) << text;
  }
  std::string many = R"({"points":[)", others = R"({"beside":[[1,1)";
  for (int i = 0; i < 1000; ++i) {
    many += "[1,1,1,1],";
    others += ",7";
  }
  EXPECT_FALSE(SpeedFromJson(many + "[1,1,1,1]]}"));
  EXPECT_FALSE(SpeedFromJson(others + "]]}"));
}

}  // namespace
}  // namespace sharewell::store
