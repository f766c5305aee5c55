#include <gtest/gtest.h>

#include "collect/host/test_host.h"
#include "collect/host_collectors.h"
#include "collect/metrics/job_metrics.h"

namespace sharewell::collect {
namespace {

constexpr const char* kFolder = "/steps";

std::vector<core::Reading> ReadingsOf(Collector& collector) {
  std::vector<core::Reading> readings;
  EXPECT_TRUE(collector.Collect(readings));
  return readings;
}

TEST(Steps, AreCountedByJobAndBeginAgainWithANewFile) {
  MadeHost host;
  const auto steps = NewStepsCollector(host.root(), kFolder);
  EXPECT_EQ(steps->Probe().state, Health::State::kAbsent);
  EXPECT_TRUE(ReadingsOf(*steps).empty());

  host.Write("/steps/17", "step\nstep\n100\nst");
  host.Write("/steps/18", "");
  EXPECT_EQ(steps->Probe().state, Health::State::kWorks);
  auto readings = ReadingsOf(*steps);
  EXPECT_EQ(readings.size(), 1U) << "18 has told of none";
  EXPECT_EQ(ValueOf(readings, kJobSteps, {}, "slurm/17"), 100);
  host.Write("/steps/17.new", "7\n");
  std::filesystem::rename(host.root() + "/steps/17.new", host.root() + "/steps/17");
  EXPECT_EQ(ValueOf(ReadingsOf(*steps), kJobSteps, {}, "slurm/17"), 7);
  host.Remove("/steps/17");
  EXPECT_TRUE(ReadingsOf(*steps).empty());
}

TEST(Steps, AreOfPlainFilesNamedAfterJobsAlone) {
  MadeHost host;
  host.Write("/steps/notes", "1\n");
  host.Write("/steps/007", "1\n");
  host.Write("/steps/1234567890123456789", "1\n");
  host.Write("/secret", "55\n");
  std::filesystem::create_symlink("../secret", host.root() + "/steps/9");
  std::filesystem::create_directory(host.root() + "/steps/8");
  const auto steps = NewStepsCollector(host.root(), kFolder);
  EXPECT_TRUE(ReadingsOf(*steps).empty());
}

}  // namespace
}  // namespace sharewell::collect
