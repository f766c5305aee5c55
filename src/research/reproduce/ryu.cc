#include "research/reproduce/ryu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "catalogue/builtin_measurements.h"
#include "core/numbers/random.h"
#include "core/result.h"
#include "research/reproduce/experiment.h"
#include "research/reproduce/ryu_measured.h"
#include "research/reproduce/ryu_tables.h"

namespace sharewell::research::reproduce {
namespace {

// Table 1. Its device "Memory" column is the sum of the read and write bandwidth beside it, so it
// is taken as bandwidth. Host CPU and host memory are shares of the container's 10 cores and 40 GB.
struct Model {
  const char* name;
  double epoch;  // seconds
  double cpu, host_memory, sm, memory;
};
constexpr std::array<Model, 6> kModels{{
    {"ResNet50", 830, 0.09, 0.26, 0.54, 0.46},
    {"Data2Vec", 2484, 0.10, 0.10, 0.29, 0.28},
    {"DeepFM", 3505, 0.09, 0.60, 0.05, 0.85},
    {"DLRM", 2696, 0.10, 0.92, 0.10, 0.04},
    {"Transformer", 3497, 0.08, 0.09, 0.36, 0.69},
    {"MobileNetV2", 605, 0.11, 0.42, 0.36, 0.63},
}};

constexpr int kJobs = 200;
constexpr const char* kCluster = "12x1xH200";
// Twice what 12 slots can take: the mean of 2 min to 2 h log-uniform is 1,729 s.
constexpr core::Seconds kBetweenArrivals{72};
constexpr std::array kPolicies{"slot", "pack", "complement", "sharewell"};

core::Result<simulation::Scenario> TableWorld() {
  core::Measurements measurements;
  std::vector<trace::TraceJob> jobs;
  for (const Model& model : kModels) {
    core::Profile profile;
    profile.workload.name = model.name;
    profile.gpu = "TITAN RTX";
    profile.steps_per_second = 1 / model.epoch;
    profile.busy = std::max(model.sm, model.memory);
    profile.sm = model.sm;
    profile.dram = model.memory;
    profile.cpu_cores = model.cpu * 10;
    profile.host_memory = core::Bytes(model.host_memory * 40e9);
    measurements.profiles.push_back(profile);
    trace::TraceJob job;
    job.id = model.name;
    job.workload = profile.workload;
    job.steps = 1;
    jobs.push_back(std::move(job));
  }
  auto cluster = ClusterOf("1x1xTITAN RTX");
  RETURN_IF_ERROR(cluster);
  return World(std::move(jobs), *std::move(cluster), measurements, "ryu");
}

// Epoch time of model `a` packed with `b`, over that alone.
double Stretch(const simulation::Scenario& world, std::size_t a, std::size_t b) {
  const auto resident = [&](std::size_t i) {
    return interference::Resident{world.jobs[i].workload, &world.truth[i].on[0].demand, 1};
  };
  const std::array residents{resident(a), resident(b)};
  return 1 / world.interference.Speed(core::GpuModelId(0), residents, 0);
}

core::Result<void> PackingRows(std::vector<ReproduceRow>& rows) {
  const auto world = TableWorld();
  RETURN_IF_ERROR(world);
  const auto index = [](std::string_view name) {
    for (std::size_t i = 0; i < kModels.size(); ++i) {
      if (kModels[i].name == name) return i;
    }
    SHAREWELL_CHECK(false);
    return std::size_t{0};
  };
  const auto named = [&](const char* what, const char* a, const char* b, double paper,
                         const char* note) {
    rows.push_back({what, paper, Stretch(*world, index(a), index(b)), "times", note});
  };
  named("epoch_data2vec_with_mobilenet", "Data2Vec", "MobileNetV2", 1.0,
        "the paper: no contention");
  named("epoch_mobilenet_with_data2vec", "MobileNetV2", "Data2Vec", 1.0,
        "the paper: no contention");
  named("epoch_dlrm_with_deepfm", "DLRM", "DeepFM", 3.0,
        "the paper: more than tripled. Missed: host memory that runs short is not modelled");
  named("epoch_deepfm_with_dlrm", "DeepFM", "DLRM", 1.0, "not told in the text");
  rows.back().paper.reset();
  struct Extreme {
    double sum = 0;
    std::size_t a = 0, b = 0;
  };
  Extreme best;
  Extreme worst{1e9, 0, 0};
  for (std::size_t a = 0; a < kModels.size(); ++a) {
    for (std::size_t b = a; b < kModels.size(); ++b) {
      const double sum = 1 / Stretch(*world, a, b) + 1 / Stretch(*world, b, a);
      if (sum > best.sum) best = {sum, a, b};
      if (sum < worst.sum) worst = {sum, a, b};
    }
  }
  const auto pair = [](const Extreme& e) {
    return fmt::format("{} + {}: sum of both speeds, host memory aside", kModels[e.a].name,
                       kModels[e.b].name);
  };
  rows.push_back({"best_pair_speed_sum", {}, best.sum, "times", pair(best)});
  rows.push_back({"worst_pair_speed_sum", {}, worst.sum, "times", pair(worst)});
  return {};
}

std::vector<trace::TraceJob> Jobs(std::uint64_t seed) {
  constexpr std::uint64_t kArrival = 0x727975ULL;
  std::vector<trace::TraceJob> jobs;
  core::Seconds now;
  for (std::uint64_t i = 0; i < kJobs; ++i) {
    trace::TraceJob job;
    job.id = fmt::format("{}", i);
    job.duration = DrawnDuration(seed, i);
    job.submit = now;
    jobs.push_back(std::move(job));
    now += kBetweenArrivals * -std::log(core::Uniform(core::HashOf({seed, i, kArrival})));
  }
  return jobs;
}

core::Result<void> RunSeed(std::uint64_t seed, const core::Measurements& measurements,
                           Figures& figures) {
  auto cluster = ClusterOf(kCluster);
  RETURN_IF_ERROR(cluster);
  const double gpus = static_cast<double>(cluster->gpu_count());
  const auto scenario = World(Jobs(seed), *std::move(cluster), measurements, "ryu", seed);
  RETURN_IF_ERROR(scenario);
  double work = 0;
  for (const auto& truth : scenario->truth) work += truth.work.value;
  simulation::SimulateOptions options;
  options.belief = {0.154, 0, seed};
  for (const std::string policy : kPolicies) {
    const auto run = RunAll(*scenario, policy, options);
    RETURN_IF_ERROR(run);
    const simulation::Summary& s = run->summary;
    figures.Add(policy + ".slowdown", *s.slowdown_mean);
    figures.Add(policy + ".p95", *s.slowdown_p95);
    figures.Add(policy + ".makespan", *s.makespan);
    figures.Add(policy + ".jct", *s.jct.mean);
    figures.Add(policy + ".sum", work / (*s.allocated * gpus * *s.makespan));
  }
  return {};
}

}  // namespace

core::Result<Experiment> Ryu(const ReproduceOptions& options) {
  Experiment out;
  out.title = "sharing well: contention of packed jobs";
  out.assumptions = {
      std::string("epoch_*: epoch time packed over alone, by our interference model from Table 1's "
                  "figures on a TITAN RTX. The model was fitted to other workloads on an H200."),
      std::string("Table 1 does not tell the share of time that kernels run: the larger of its SM "
                  "and memory figures is taken, which is the least it can be."),
      fmt::format("slowdown_* and the rest: {} jobs from what we measured on an H200, alone 2 min "
                  "to 2 h log-uniform, one every {:g} s on average (twice what slots can take), on "
                  "{}; belief noisy:0.154, durations exact; mean of seeds 1 to {}.",
                  kJobs, kBetweenArrivals.value, kCluster, options.seeds),
      std::string(
          "speed_error_*: whether L2 or DRAM throughput tells more of who contends than the demand "
          "that our model of sharing reads: the residual of its logarithm is corrected by a "
          "straight line over it. Data2Vec, of which there is no profile, is left out."),
      "speed_sum_*: work done in a second of a GPU in use, alone = 1.",
  };
  RETURN_IF_ERROR(PackingRows(out.rows));
  RETURN_IF_ERROR(MeasuredPackingRows(out));
  RETURN_IF_ERROR(KernelRows(out));
  RETURN_IF_ERROR(RyuTables(out));
  RETURN_IF_ERROR(FinerMetricRows(out));
  const core::Measurements measurements = catalogue::FirstSitting();
  Figures figures;
  const auto seeds = static_cast<std::size_t>(options.seeds);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (options.progress) options.progress("seeds", seed - 1, seeds);
    RETURN_IF_ERROR(RunSeed(seed, measurements, figures));
  }
  if (options.progress) options.progress("seeds", seeds, seeds);
  for (const std::string policy : kPolicies) {
    const auto add = [&](const char* what, const char* figure, const char* unit) {
      out.rows.push_back({what + policy, {}, figures.Mean(policy + figure), unit, ""});
    };
    add("slowdown_mean_", ".slowdown", "times");
    add("slowdown_p95_", ".p95", "times");
    add("makespan_", ".makespan", "s");
    add("jct_mean_", ".jct", "s");
    add("speed_sum_", ".sum", "times");
  }
  return out;
}

}  // namespace sharewell::research::reproduce
