#include "testing/random_case.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/numbers/random.h"

namespace sharewell::fixtures {

std::uint64_t Dice::Next() { return core::HashOf({seed_, ++drawn_}); }

double Dice::Uniform(double low, double high) { return low + (high - low) * core::Uniform(Next()); }

double Dice::LogUniform(double low, double high) {
  return std::exp(Uniform(std::log(low), std::log(high)));
}

int Dice::Between(int low, int high) {
  return low + static_cast<int>(Next() % static_cast<std::uint64_t>(high - low + 1));
}

double Dice::Pick(std::initializer_list<double> values) {
  return *(values.begin() + Between(0, static_cast<int>(values.size()) - 1));
}

namespace {

// Of host memory, by dice of their own: those of the rest of a case stay what they were.
core::Cluster RandomCluster(Dice& dice, Dice& memory_dice, const CaseOptions& options) {
  ClusterBuilder builder;
  const int models = dice.Between(1, options.most_models);
  for (int m = 0; m < models; ++m) {
    builder.Model(std::string(1, static_cast<char>('A' + m)), dice.Pick({8, 16, 32}));
    if (dice.Chance(0.5)) builder.Power(50, 300);
  }
  const bool cores = options.host_limits && dice.Chance(0.6);
  const bool limits = options.host_limits && dice.Chance(0.5);
  const bool memory = options.host_limits && memory_dice.Chance(0.6);
  const int nodes = dice.Between(models, 5);
  for (int n = 0; n < nodes; ++n) {
    const int gpus = dice.Between(1, 4);
    // Every model has a node.
    builder.Node(gpus, static_cast<std::size_t>(n < models ? n : dice.Between(0, models - 1)));
    if (gpus > 2 && n % 2 == 1) builder.Islands("0,2");  // without dice, which others would miss
    if (cores && dice.Chance(0.9)) builder.Cores(gpus * dice.Between(1, 8) + dice.Between(0, 3));
    if (memory && memory_dice.Chance(0.9)) builder.Memory(memory_dice.Pick({16, 40, 100}));
    if (limits) {
      builder.MemoryBandwidth(dice.Pick({20, 60, 200}));
      builder.Pcie(dice.Pick({8, 32, 128}));
      builder.Network(dice.Pick({10, 25, 100}));
    }
  }
  if (options.cpu_only && dice.Chance(0.3)) builder.Node(0).Cores(dice.Between(4, 16));
  return builder.Build();
}

// Some need more than a node has: believed, they run there alone; asked, never.
void NeedHostMemory(Dice& dice, const CaseOptions& options, JobSpec& job) {
  if (dice.Chance(0.7)) job.host_gib = dice.LogUniform(1, 30);
  if (!dice.Chance(0.3)) return;
  job.asked_host_gib = std::max(job.gpus, 1) * dice.LogUniform(1, 20);
  if (options.misfits && dice.Chance(0.1)) job.asked_host_gib = std::max(job.gpus, 1) * 70;
}

JobSpec RandomJob(Dice& dice, const CaseOptions& options, const core::Cluster& cluster) {
  JobSpec job;
  const int models = static_cast<int>(cluster.models().size());
  job.seconds = dice.LogUniform(20, 40000);
  job.busy = dice.Uniform(0.05, 1);
  job.sm = job.busy * dice.Uniform(0.3, 1);
  job.dram = dice.Uniform(0, 0.6);
  job.gib = dice.LogUniform(0.5, 7.5);
  job.watts = dice.Chance(0.9) ? dice.Uniform(60, 350) : 0;
  job.user = static_cast<std::size_t>(dice.Between(0, 3));
  if (dice.Chance(0.7)) job.workload = static_cast<std::size_t>(dice.Between(0, 5));
  job.known = !dice.Chance(0.1);
  if (options.gangs && dice.Chance(0.25)) job.gpus = dice.Between(2, 6);
  for (int m = 0; m < models; ++m) job.rates.push_back(m == 0 ? 1 : dice.Uniform(0.3, 2));
  if (dice.Chance(0.1)) job.restart_cost = dice.Uniform(0, 300);
  if (dice.Chance(0.1)) job.startup = dice.Uniform(0, 60);
  if (options.host_limits) {
    job.wants_cores = dice.Chance(0.7) ? dice.Uniform(0.2, 6) : 0;
    job.host_gbps = dice.Chance(0.5) ? dice.Uniform(0, 20) : 0;
    job.pcie_gbps = dice.Chance(0.5) ? dice.Uniform(0, 6) : 0;
    if (dice.Chance(0.4)) job.cores = job.gpus * dice.Between(1, 4);
  }
  if (options.constraints) {
    job.exclusive = dice.Chance(0.1);
    if (dice.Chance(0.1)) job.priority = dice.Between(-1, 2);
    if (dice.Chance(0.15)) job.only = {static_cast<std::size_t>(dice.Between(0, models - 1))};
    if (models > 1 && dice.Chance(0.05)) {
      job.rates[static_cast<std::size_t>(dice.Between(1, models - 1))] = 0;
    }
  }
  if (options.misfits && dice.Chance(0.08)) job.gib = dice.Uniform(7, 40);
  if (options.misfits && dice.Chance(0.04)) job.gpus = 64;
  if (options.cpu_only && dice.Chance(0.12)) {
    job.gpus = 0;
    job.exclusive = false;
    job.only.clear();
    job.cores = dice.Chance(0.8) ? std::optional<double>(dice.Between(1, 8)) : std::nullopt;
    if (options.misfits && dice.Chance(0.1)) job.cores = 1000;
  }
  return job;
}

}  // namespace

Case RandomCase(std::uint64_t seed, const CaseOptions& options) {
  Dice dice(seed);
  Dice more(seed + 1'000'000);  // what came later: the cases stay as they were without it
  Dice memory_dice(core::HashOf({seed, 0x6d656d}));
  Case out;
  out.cluster = RandomCluster(dice, memory_dice, options);
  const int jobs = dice.Between(options.least_jobs, options.most_jobs);
  const double gap = dice.Pick({0, 30, 600, 4000});  // 0: a batch
  double submit = 0;
  for (int j = 0; j < jobs; ++j) {
    JobSpec spec = RandomJob(dice, options, out.cluster);
    if (options.host_limits) NeedHostMemory(memory_dice, options, spec);
    if (gap > 0 && j > 0) submit += dice.Chance(0.2) ? 0 : -gap * std::log(dice.Uniform(1e-9, 1));
    spec.submit = submit;
    if (spec.gpus > 0 && more.Chance(0.7)) spec.kernel_time = more.LogUniform(2e-6, 200e-6);
    if (options.constraints && more.Chance(0.1)) spec.sm_share = more.Pick({0.25, 0.5, 0.8, 1});
    out.specs.push_back(std::move(spec));
  }
  for (std::size_t j = 0; j < out.specs.size(); ++j) {
    out.jobs.push_back(JobOf(out.specs[j], j));
    out.truth.push_back(TruthOf(out.specs[j], out.cluster));
  }
  interference::PairTable pairs(out.cluster.models().size(), 6);
  for (std::size_t m = 0; m < out.cluster.models().size(); ++m) {
    for (int k = 0; k < 6; ++k) {
      const core::GpuModelId model(m);
      const core::WorkloadId a(static_cast<std::size_t>(dice.Between(0, 5)));
      const core::WorkloadId b(static_cast<std::size_t>(dice.Between(0, 5)));
      if (dice.Chance(0.15)) {
        pairs.AddUnfit(model, a, b);
      } else {
        pairs.Add(model, a, b, dice.Uniform(0.3, 1.05), dice.Uniform(0.3, 1.05));
      }
    }
  }
  out.interference = interference::Interference(std::move(pairs));
  out.belief.seed = seed;
  out.belief.figures = dice.Pick({0, 0.154, 0.5});
  out.belief.durations = dice.Chance(0.3) ? std::nullopt : std::optional(dice.Pick({0, 0.3, 1}));
  return out;
}

Case CaseOf(core::Cluster cluster, std::vector<JobSpec> specs) {
  Case out;
  out.cluster = std::move(cluster);
  out.specs = std::move(specs);
  for (std::size_t j = 0; j < out.specs.size(); ++j) {
    out.jobs.push_back(JobOf(out.specs[j], j));
    out.truth.push_back(TruthOf(out.specs[j], out.cluster));
  }
  out.interference = WithoutResidual();
  out.belief = {0, 0, 1};
  return out;
}

bool CouldRun(const core::Cluster& cluster, const JobSpec& spec, bool cores_as_asked) {
  if (spec.gpus == 0) {
    return std::any_of(cluster.nodes().begin(), cluster.nodes().end(), [&](const auto& node) {
      return (!node.cores || *node.cores >= spec.cores.value_or(1)) &&
             (!node.memory || *node.memory >= core::GiB(spec.asked_host_gib.value_or(0)));
    });
  }
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    if (!spec.only.empty() && std::find(spec.only.begin(), spec.only.end(), m) == spec.only.end())
      continue;
    if (!spec.rates.empty() && spec.rates[m] <= 0) continue;
    int largest = 0;
    // GPUs it has, GPUs of it that there are cores and host memory for.
    std::vector<std::pair<int, int>> nodes;
    for (const auto& node : cluster.nodes()) {
      if (node.gpus == 0 || node.model.index() != m) continue;
      int fit = node.gpus;
      if (cores_as_asked && node.cores && spec.cores && *spec.cores > 0) {
        const double a_gpu = *spec.cores / spec.gpus;
        fit = std::min(fit, static_cast<int>(std::floor((*node.cores + 1e-9) / a_gpu)));
      }
      if (node.memory && spec.asked_host_gib) {
        const double a_gpu = std::ceil(core::GiB(*spec.asked_host_gib).value / spec.gpus);
        fit = std::min(fit, static_cast<int>(std::floor(node.memory->value / a_gpu)));
      }
      largest = std::max(largest, node.gpus);
      nodes.emplace_back(node.gpus, fit);
    }
    // A gang is kept on one node where a node has as many GPUs; else it takes whole nodes, and part
    // of one more.
    const auto holds_rest = [&](std::size_t n, int rest) { return nodes[n].second >= rest; };
    if (spec.gpus <= largest) {
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if (holds_rest(n, spec.gpus)) return true;
      }
      continue;
    }
    for (std::uint32_t whole = 0; whole < 1U << nodes.size(); ++whole) {
      int rest = spec.gpus;
      bool cores = true;
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if ((whole >> n & 1) == 0) continue;
        rest -= nodes[n].first;
        cores = cores && holds_rest(n, nodes[n].first);
      }
      if (!cores || rest < 0) continue;
      if (rest == 0) return true;
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        if ((whole >> n & 1) == 0 && holds_rest(n, rest)) return true;
      }
    }
  }
  return false;
}

bool MayRunOutAlone(const core::Cluster& cluster, const JobSpec& spec) {
  if (spec.gpus == 0) return false;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    if (!spec.only.empty() && std::find(spec.only.begin(), spec.only.end(), m) == spec.only.end())
      continue;
    if (core::GiB(spec.gib) > cluster.models()[m].memory) return true;
  }
  return false;
}

}  // namespace sharewell::fixtures
