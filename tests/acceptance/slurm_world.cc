// slurm_world TRACE CLUSTER [SEED]: the simulator's world, whose jobs are started and stopped by
// somebody else at times of theirs: slurm_gain.py does so as a real Slurm starts and ends them. So
// how fast a job goes (its GPU's generation, who shares the GPU, with which share of the SMs) is
// exactly what `sharewell simulate` takes for the truth.
//
// Lines on stdin, times in seconds that never go back, jobs and GPUs by their number from 0:
//   TIME start JOB GPU SHARE CORES
//   TIME stop JOB
//   TIME
// Each is answered by `finished JOB` or `broken JOB` (out of GPU memory) for each job that has
// ended by then, and a line `next TIME`, or `next never`.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>

#include "catalogue/builtin_measurements.h"
#include "catalogue/cluster_file.h"
#include "catalogue/gpu_catalogue.h"
#include "sim/world.h"
#include "simulation/scenario.h"
#include "trace/reader.h"

namespace sharewell {
namespace {

core::Result<simulation::Scenario> Read(const std::string& trace_file,
                                        const std::string& cluster_file, std::uint64_t seed) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  auto cluster = catalogue::ReadCluster(cluster_file, catalogue);
  RETURN_IF_ERROR(cluster);
  const auto trace = trace::ReadTrace(trace_file);
  RETURN_IF_ERROR(trace);
  return simulation::BuildScenario(*trace, trace_file, std::move(*cluster),
                                   catalogue::BuiltinMeasurements(), catalogue, {1, seed});
}

void Tell(const sim::Events& events) {
  for (const core::JobId id : events.finished) fmt::print("finished {}\n", id.value);
  for (const core::JobId id : events.failed) fmt::print("broken {}\n", id.value);
  for (const core::JobId id : events.out_of_memory) fmt::print("broken {}\n", id.value);
}

void Advance(sim::World& world, core::Seconds to) {
  sim::Events events;
  for (auto next = world.NextEvent(); next && *next <= to; next = world.NextEvent()) {
    events.Clear();
    world.AdvanceTo(*next, events);
    Tell(events);
    world.Settle(events);
  }
  events.Clear();
  world.AdvanceTo(std::max(to, world.now()), events);
  Tell(events);
}

bool Do(sim::World& world, std::istream& words) {
  std::string what;
  std::uint32_t job = 0, gpu = 0;
  core::Allocation where;
  sim::Events events;
  if (!(words >> what)) return true;
  if (!(words >> job) || job >= world.jobs().size()) return false;
  if (what == "start" && words >> gpu >> where.sm_share >> where.cores) {
    where.gpus = {core::GpuId(gpu)};
    world.Start(core::JobId(job), where, std::nullopt);
  } else if (what == "stop") {
    world.Stop(core::JobId(job));
  } else {
    return false;
  }
  world.Settle(events);
  return true;
}

int Main(const std::string& trace, const std::string& cluster, std::uint64_t seed) {
  auto scenario = Read(trace, cluster, seed);
  if (!scenario) {
    fmt::print(stderr, "slurm_world: {}\n", scenario.error().message);
    return 1;
  }
  for (sim::TrueJob& job : scenario->truth) job.startup = core::Seconds(0);  // a real one passes
  sim::World world(scenario->cluster, scenario->jobs, scenario->truth, scenario->interference,
                   {seed, core::Seconds(30)});
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    double time = 0;
    if (!(words >> time)) return 1;
    Advance(world, core::Seconds(time));
    if (!Do(world, words)) {
      fmt::print(stderr, "slurm_world: this line is not understood: {}\n", line);
      return 1;
    }
    const auto next = world.NextEvent();
    fmt::print("next {}\n", next ? fmt::format("{}", next->value) : "never");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace sharewell

int main(int count, char** words) {
  if (count != 3 && count != 4) {
    fmt::print(stderr, "usage: slurm_world TRACE CLUSTER [SEED]\n");
    return 2;
  }
  return sharewell::Main(words[1], words[2], count == 4 ? std::stoull(words[3]) : 1);
}
