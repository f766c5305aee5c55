// What silent_speed.h claims, against the co-locations that were measured under MPS.
#include "control/loop/silent_speed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "catalogue/workload_columns.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"

namespace sharewell::research {
namespace {

struct Errors {
  int count = 0;
  double absolute = 0, bias = 0;
};

// The mean speed by SMs less the one by steps, over the file's co-locations of so many.
void Judge(const std::string& file, const std::string& letters, Errors& errors) {
  std::map<core::Workload, core::Profile> profiles;
  for (const auto& profile : catalogue::BuiltinMeasurements().profiles) {
    profiles.emplace(profile.workload, profile);
  }
  const auto mapped = platform::MappedFile::Open(file);
  ASSERT_TRUE(mapped) << mapped.error().message;
  platform::CsvReader csv(mapped->text(), file);
  const auto mps = csv.Require("mps"), active = csv.Require("gpm_sm");
  while (csv.Next()) {
    if (!csv.Flag(mps, true)) continue;
    std::vector<control::SmDemand> jobs;
    double all = 0, done = 0;
    for (const char letter : letters) {
      const std::string end = std::string("_") + letter;
      const auto& profile = profiles.at(catalogue::WorkloadColumns::Find(csv, end).Read(csv));
      const double rate = csv.Number(csv.Require("steps_per_s" + end), {});
      // Its rate alone differs from sitting to sitting, and what it keeps active with it.
      const double usual = *profile.steps_per_second;
      const double own =
          csv.OptionalNumber(csv.Find("alone_steps_per_s" + end), {}).value_or(usual);
      jobs.push_back({*profile.sm * own / usual, {}});
      all += jobs.back().alone;
      done += jobs.back().alone * rate / own;
    }
    const auto speed = control::SilentSpeed(csv.Number(active, {}) / 100, jobs);
    ASSERT_TRUE(speed) << csv.line();
    ++errors.count;
    errors.absolute += std::abs(*speed - done / all);
    errors.bias += *speed - done / all;
  }
  ASSERT_TRUE(csv.ok()) << csv.error().value().message;
}

TEST(SilentSpeed, ErrsAsItsHeaderSays) {
  Errors pairs, triples;
  Judge("data/h200/pairs.csv", "ab", pairs);
  Judge("data/h200/pairs-2.csv", "ab", pairs);
  Judge("data/h200/triples.csv", "abc", triples);
  EXPECT_EQ(pairs.count, 111);
  EXPECT_EQ(triples.count, 52);
  EXPECT_NEAR(pairs.absolute / pairs.count, 0.022, 0.002);
  EXPECT_NEAR(triples.absolute / triples.count, 0.029, 0.002);
  EXPECT_LT(std::abs(pairs.bias / pairs.count), 0.015);
  EXPECT_LT(std::abs(triples.bias / triples.count), 0.015);
}

}  // namespace
}  // namespace sharewell::research
