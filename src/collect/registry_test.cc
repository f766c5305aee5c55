#include "collect/registry.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <set>
#include <tuple>

#include "collect/host/test_host.h"
#include "collect/job_sources.h"
#include "collect/metrics/metrics.h"

namespace sharewell::collect {
namespace {

CollectorOptions Below(const std::string& root, JobSource* jobs = nullptr) {
  CollectorOptions options;
  options.root = root;
  options.jobs = jobs;
  options.nvml_library = "/no/such/library";
  return options;
}

// Of any machine, working or not: each says how it stands; readings are finite, of listed metrics,
// with an instance exactly where the metric has one, and no two of one series.
void CheckAll(const CollectorOptions& options) {
  std::set<std::string_view> names;
  std::set<const core::Metric*> listed(AllMetrics().begin(), AllMetrics().end());
  for (const auto& collector : AllCollectors(options)) {
    SCOPED_TRACE(std::string(collector->Name()) + " below " + options.root);
    EXPECT_TRUE(names.insert(collector->Name()).second);
    EXPECT_FALSE(collector->Describe().empty());
    const Health health = collector->Probe();
    EXPECT_FALSE(health.what.empty());
    EXPECT_TRUE(health.state != Health::State::kWorks || health.mend.empty()) << health.mend;
    for (int round = 0; round < 3; ++round) {
      std::vector<core::Reading> readings;
      const auto result = collector->Collect(readings);
      EXPECT_TRUE(result || !result.error().message.empty());
      std::set<std::tuple<const core::Metric*, std::string, std::string>> series;
      for (const core::Reading& reading : readings) {
        EXPECT_TRUE(listed.contains(reading.metric)) << reading.metric->name;
        EXPECT_TRUE(std::isfinite(reading.value)) << reading.metric->name;
        EXPECT_EQ(reading.instance.empty(), reading.metric->instance.empty())
            << reading.metric->name << " " << reading.instance;
        EXPECT_EQ(reading.job.empty(), !reading.metric->name.starts_with("job_"))
            << reading.metric->name;
        EXPECT_TRUE(series.emplace(reading.metric, reading.instance, reading.job).second)
            << reading.metric->name << " " << reading.instance << " " << reading.job;
      }
    }
  }
  EXPECT_GE(names.size(), 12U);
}

TEST(AllCollectors, KeepTheirPromisesOnEveryMachine) {
  for (const char* name : {"plain", "two_socket", "cgroup_v1", "newer_kernel"}) {
    const std::string root = std::string("tests/fixtures/host/") + name;
    DiscoveredJobs jobs({.root = root});
    jobs.SetGpuPids({501, 700, 800, 901});
    CheckAll(Below(root, &jobs));
  }
  MadeHost empty;
  CheckAll(Below(empty.root()));
  CheckAll(Below("/no/such/folder"));
}

TEST(AllCollectors, KeepTheirPromisesHere) {
  TreeJobs jobs;
  jobs.Add("tests", ::getpid());
  CheckAll(Below("/", &jobs));
}

TEST(AllCollectors, SurviveFilesThatAreFoldersOrRubbish) {
  const char* paths[] = {"/proc/stat",
                         "/proc/loadavg",
                         "/proc/cpuinfo",
                         "/proc/meminfo",
                         "/proc/vmstat",
                         "/proc/diskstats",
                         "/proc/net/dev",
                         "/proc/pressure/cpu",
                         "/proc/9/stat",
                         "/proc/9/io",
                         "/proc/9/cgroup",
                         "/sys/devices/system/node/node0/meminfo",
                         "/sys/class/powercap/intel-rapl:0/name",
                         "/sys/class/powercap/intel-rapl:0/energy_uj",
                         "/sys/class/hwmon/hwmon0/name",
                         "/sys/class/hwmon/hwmon0/temp1_input"};
  MadeHost rubbish, folders;
  std::string noise;
  for (int i = 0; i < 70'000; ++i) noise += static_cast<char>((i * 7919) >> 3);
  for (const char* path : paths) {
    rubbish.Write(path, noise);
    folders.Write(std::string(path) + "/x", "1\n");
  }
  for (const MadeHost* host : {&rubbish, &folders}) {
    DiscoveredJobs jobs({.root = host->root()});
    jobs.SetGpuPids({9});
    CheckAll(Below(host->root(), &jobs));
  }
}

TEST(AllCollectors, CountersCanBeLeftToOthers) {
  auto options = Below("tests/fixtures/host/plain");
  const std::size_t all = AllCollectors(options).size();
  options.gpm = false;
  EXPECT_EQ(AllCollectors(options).size(), all - 2);  // GPM and DCGM
}

}  // namespace
}  // namespace sharewell::collect
