#include "catalogue/pairs_file.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "catalogue/gavel_throughputs.h"
#include "platform/files/test_folder.h"

namespace sharewell::catalogue {
namespace {

using core::ErrorKind;
using testing::HasSubstr;

const char kPairs[] =
    "workload_a,batch_a,precision_a,workers_a,steps_per_s_a,workload_b,steps_per_s_b,mps\n";

std::string ErrorOf(std::string_view text) {
  const auto read = ReadPairsText(text, "i");
  if (read) return "no error";
  EXPECT_EQ(read.error().kind, ErrorKind::kUsage);
  return read.error().message;
}

TEST(PairCsv, TakesTheRowsMeasuredUnderMps) {
  const std::string header = kPairs;
  const auto read = ReadPairsText(
      header + "a,64,bf16,4,10.5,b,20,1\na,64,bf16,4,5,b,10,0\na,64,bf16,4,0,c,0,1\n", "i");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->profiles.empty());
  ASSERT_EQ(read->pairs.size(), 2U);
  EXPECT_EQ(read->pairs[0],
            (core::PairMeasurement{"", {"a", 64, "bf16", 4}, {"b", 0, "", 0}, 10.5, 20, true}));
  EXPECT_FALSE(read->pairs[1].fits) << "0 and 0: out of memory together";
}

TEST(PairCsv, MpsAndGpuAreOptional) {
  const auto read =
      ReadPairsText("workload_a,steps_per_s_a,workload_b,steps_per_s_b,gpu\na,1,b,2,T4\n", "i");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->pairs.at(0).gpu, "T4");
}

TEST(PairCsv, RatesAloneOfTheSameSittingAreTakenAlong) {
  const auto read = ReadPairsText(
      "workload_a,steps_per_s_a,workload_b,steps_per_s_b,alone_steps_per_s_a,alone_steps_per_s_b\n"
      "a,1,b,2,1.5,\n",
      "i");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->pairs.at(0).alone_a, 1.5);
  EXPECT_FALSE(read->pairs.at(0).alone_b);
}

TEST(PairCsv, RefusesBadRows) {
  const std::string header = kPairs;
  EXPECT_THAT(ErrorOf(header + "a,1,,,-1,b,1,1\n"),
              HasSubstr("line 2, column steps_per_s_a: '-1'"));
  EXPECT_THAT(ErrorOf(header + "a,1,,,nan,b,1,1\n"), HasSubstr("column steps_per_s_a"));
  EXPECT_THAT(ErrorOf(header + "a,1,,,1,b,0,1\n"),
              HasSubstr("column steps_per_s_b: '0' is 0 while"));
  EXPECT_THAT(ErrorOf(header + "a,1,,,1,,1,1\n"), HasSubstr("column workload_b"));
  EXPECT_THAT(ErrorOf(header + "a,1,,,1,b,1,2\n"), HasSubstr("column mps"));
  EXPECT_THAT(ErrorOf(header + "a,1,,,1,b\n"), HasSubstr("has 6 fields where 8"));
  EXPECT_THAT(ErrorOf(header + "a,1,,,1,b,1,0\n"), HasSubstr("no pair measured under MPS"));
  EXPECT_THAT(ErrorOf(header), HasSubstr("no pair"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
}

const char kGavel[] = R"json({"v100": {
  "('A3C', 1)": {"null": 2.5, "('A3C', 1)": [1, 1.5], "('LM (batch size 5)', 1)": [2, 3]},
  "('LM (batch size 5)', 1)": {"null": 0.0, "('A3C', 1)": [3, 2], "('LM (batch size 5)', 1)": [0.0, 0.0]},
  "('LM (batch size 5)', 4)": {"null": 12, "('LM (batch size 5)', 4)": [0, 0]}},
 "v100_unconsolidated": {"('A3C', 1)": {"null": 1}}})json";

TEST(GavelJson, GivesRatesAloneAndEveryPairOnce) {
  const auto read = ReadPairsText(kGavel, "g.json");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->profiles.size(), 2U);
  EXPECT_EQ(read->profiles[0].workload, (core::Workload{"A3C", 0, "", 0}));
  EXPECT_EQ(read->profiles[0].gpu, "v100");
  EXPECT_EQ(read->profiles[0].steps_per_second, 2.5);
  EXPECT_EQ(read->profiles[1].workload.name, "LM (batch size 5) x4")
      << "gangs have a rate of their own";
  ASSERT_EQ(read->pairs.size(), 3U) << "A with B is B with A; gangs make no pairs";
  EXPECT_EQ(read->pairs[1].steps_per_second_b, 3);
  EXPECT_FALSE(read->pairs[2].fits);
}

TEST(GavelJson, NamesWorkloadsLikeTheTraceReader) {
  EXPECT_EQ(GavelWorkload("A3C", 1), "A3C");
  EXPECT_EQ(GavelWorkload("A3C", 4), "A3C x4");
}

TEST(GavelJson, RefusesWhatIsNotGavels) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("i: line 1: is no valid JSON"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("holds no rates"));
  EXPECT_THAT(ErrorOf(R"json({"v100": 1})json"), HasSubstr("'v100' must hold job types"));
  EXPECT_THAT(ErrorOf(R"json({"v100": {"A3C": {}}})json"), HasSubstr("'A3C' must be a job type"));
  EXPECT_THAT(ErrorOf(R"json({"v100": {"('A3C', 0)": {}}})json"), HasSubstr("must be a job type"));
  EXPECT_THAT(ErrorOf(R"json({"v100": {"('A3C', 99999999999)": {}}})json"),
              HasSubstr("must be a job type"));
  EXPECT_THAT(ErrorOf(R"json({"v100": {"('A3C', 1)": {"null": -1}}})json"),
              HasSubstr("at least 0"));
  EXPECT_THAT(ErrorOf(R"json({"v100": {"('A3C', 1)": {"null": 1e300}}})json"),
              HasSubstr("at least 0"));
  EXPECT_THAT(ErrorOf(R"json({"v100": {"('A3C', 1)": {"null": "x"}}})json"),
              HasSubstr("at least 0"));
  EXPECT_THAT(ErrorOf(R"json({"v100": {"('A3C', 1)": {"null": NaN}}})json"),
              HasSubstr("no valid JSON"));
  for (const char* bad : {"[1]", "[1,2,3]", "[1,-1]", "[0,1]", "\"x\"", "null", "[1,\"x\"]"}) {
    EXPECT_THAT(
        ErrorOf(std::string(R"json({"v100": {"('A3C', 1)": {"('A3C', 1)": )json") + bad + "}}}"),
        HasSubstr("two numbers of steps per second"))
        << bad;
  }
  EXPECT_THAT(ErrorOf("{" + std::string(100000, '[')), HasSubstr("no valid JSON"));
}

TEST(GavelJson, ReadsTheRealFile) {
  SHAREWELL_NEEDS_DATA(path, "gavel/simulation_throughputs.json");
  const auto read = ReadPairs(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->profiles.size(), 3U * 83 - 3) << "three gangs do not fit on K80";
  EXPECT_EQ(read->pairs.size(), 3U * 26 * 27 / 2);
  const auto unfit =
      std::count_if(read->pairs.begin(), read->pairs.end(), [](const auto& p) { return !p.fits; });
  EXPECT_GT(unfit, 0);
}

}  // namespace
}  // namespace sharewell::catalogue
