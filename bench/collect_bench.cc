// What watching costs. The bar: one round of all collectors takes at most 10 ms of CPU, which at
// 1 Hz is 1 % of a core; more than that is an error of the benchmark.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "collect/job_sources.h"
#include "collect/registry.h"

namespace {

namespace collect = sharewell::collect;
namespace core = sharewell::core;

constexpr double kBarSeconds = 0.010;

// Of all threads: collectors may have some of their own.
double ProcessCpuSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double ResidentMegabytes() {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/statm", "r"), std::fclose);
  long size = 0, resident = 0;
  if (!file || std::fscanf(file.get(), "%ld %ld", &size, &resident) != 2) return 0;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

// This machine, with the jobs that it runs and this process as one.
struct Watched {
  // No pause between looks: each round pays for its own.
  collect::TreeJobs tree{{.every = core::Seconds(0)}};
  std::vector<std::unique_ptr<collect::Collector>> collectors;

  Watched() {
    tree.Add("bench", ::getpid());
    collect::CollectorOptions options;
    options.jobs = &tree;
    collectors = collect::AllCollectors(options);
  }
};

void BM_RoundOfAll(benchmark::State& state) {
  Watched watched;
  std::vector<core::Reading> readings;
  const double begin = ProcessCpuSeconds();
  for (auto _ : state) {
    readings.clear();
    for (const auto& collector : watched.collectors) (void)collector->Collect(readings);
    benchmark::DoNotOptimize(readings.data());
  }
  const double each = (ProcessCpuSeconds() - begin) / static_cast<double>(state.iterations());
  state.counters["readings"] = static_cast<double>(readings.size());
  state.counters["core_percent_at_1Hz"] = each * 100;
  state.counters["resident_MB"] = ResidentMegabytes();
  if (each > kBarSeconds) state.SkipWithError("a round takes more than 10 ms of CPU");
}
BENCHMARK(BM_RoundOfAll)->Unit(benchmark::kMicrosecond)->Iterations(100);

void OneCollector(benchmark::State& state, const std::string& name) {
  Watched watched;
  std::vector<core::Reading> readings;
  for (const auto& collector : watched.collectors) {
    if (collector->Name() != name) continue;
    for (auto _ : state) {
      readings.clear();
      (void)collector->Collect(readings);
      benchmark::DoNotOptimize(readings.data());
    }
  }
  state.counters["readings"] = static_cast<double>(readings.size());
}

void BM_DiscoverJobs(benchmark::State& state) {
  collect::DiscoveredJobs jobs({.every = core::Seconds(0)});
  for (auto _ : state) benchmark::DoNotOptimize(jobs.Running().size());
}
BENCHMARK(BM_DiscoverJobs)->Unit(benchmark::kMicrosecond);

const int kRegistered = [] {
  for (const auto& collector : collect::AllCollectors({})) {
    const std::string name(collector->Name());
    benchmark::RegisterBenchmark(("BM_Collector/" + name).c_str(), OneCollector, name)
        ->Unit(benchmark::kMicrosecond);
  }
  return 0;
}();

}  // namespace
