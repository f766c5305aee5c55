#include "research/reproduce/coda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "catalogue/builtin_measurements.h"
#include "core/result.h"
#include "research/reproduce/coda_measured.h"
#include "research/reproduce/experiment.h"
#include "research/reproduce/synergy.h"

namespace sharewell::research::reproduce {
namespace {

constexpr double kAsked = 3;  // cores a GPU: 24 cores for 8 GPUs, Synergy's and many others' share
constexpr core::Seconds kLength{3600};

// One job, alone on a cluster given as text.
struct OneJob {
  double cores = 0;  // reserved
  double run = 0;    // seconds
};

core::Result<OneJob> RunOne(const core::Measurements& measurements, trace::TraceJob job,
                            const std::string& nodes, const std::string& policy,
                            const simulation::SimulateOptions& options) {
  auto cluster = ClusterOf(nodes);
  RETURN_IF_ERROR(cluster);
  const auto scenario = World({std::move(job)}, *std::move(cluster), measurements, "coda");
  RETURN_IF_ERROR(scenario);
  const auto run = RunAll(*scenario, policy, options);
  RETURN_IF_ERROR(run);
  return OneJob{*run->summary.cores_reserved, run->outcomes.front().run_time.value};
}

trace::TraceJob JobOf(const core::Workload& workload, int gpus, std::optional<double> cores) {
  trace::TraceJob job;
  job.id = workload.name;
  job.workload = workload;
  job.gpus = gpus;
  job.cores = cores;
  job.duration = kLength;
  return job;
}

// (a) Our own H200 rows: a workload measured with several counts of loader processes.

struct OwnCurve {
  const char* label;
  const char* name;
  int batch;
};
constexpr std::array<OwnCurve, 4> kOwn{{
    {"alexnet", "tv:alexnet@224", 128},
    {"resnet18", "tv:resnet18@224", 128},
    {"resnet50", "tv:resnet50@224", 64},
    {"vgg16", "tv:vgg16@224", 64},
}};

// The fastest row, with the curve that all its rows make. Where more workers were faster on fewer
// cores, the slower row is left out: a curve rises in both.
core::Measurements CurveOf(const OwnCurve& own) {
  const core::Measurements builtin = catalogue::FirstSitting();
  std::vector<core::Profile> rows;
  for (const auto& p : builtin.profiles) {
    if (p.workload.name == own.name && p.workload.batch == own.batch &&
        p.workload.precision == "bf16" && p.cpu_cores && p.steps_per_second) {
      rows.push_back(p);
    }
  }
  SHAREWELL_CHECK(rows.size() >= 2);
  std::sort(rows.begin(), rows.end(), [](const core::Profile& a, const core::Profile& b) {
    return *a.steps_per_second > *b.steps_per_second;
  });
  core::Profile best = rows.front();
  const double full = *best.steps_per_second;
  for (const auto& row : rows) {
    if (best.cpu_curve.empty() || *row.cpu_cores < best.cpu_curve.back().first) {
      best.cpu_curve.emplace_back(*row.cpu_cores, *row.steps_per_second / full);
    }
  }
  std::reverse(best.cpu_curve.begin(), best.cpu_curve.end());
  return {{best}, {}};
}

core::Result<void> OwnRows(std::vector<ReproduceRow>& rows) {
  // The machine they were measured on.
  const std::string nodes = "[[nodes]]\ngpus = 1\ngpu = \"H200\"\ncores = 16\n";
  for (const OwnCurve& own : kOwn) {
    const auto measurements = CurveOf(own);
    const auto& workload = measurements.profiles.front().workload;
    const auto run = [&](const char* policy, std::optional<double> cores) {
      return RunOne(measurements, JobOf(workload, 1, cores), nodes, policy, ExactOptions());
    };
    const auto slim = run("fifo+slot+slim", {});
    const auto three = run("fifo+slot+asked", kAsked);
    const auto share = run("fifo+slot+asked", {});
    for (const auto* one : {&slim, &three, &share}) {
      if (!*one) return tl::unexpected((*one).error());
    }
    const std::string label = own.label;
    rows.push_back({"cores_slim_" + label,
                    {},
                    slim->cores,
                    "cores",
                    fmt::format("of the node's {:g}, which `asked` would reserve", share->cores)});
    rows.push_back({"throughput_slim_" + label,
                    {},
                    share->run / slim->run,
                    "ratio",
                    "of that with the node's share"});
    rows.push_back({"throughput_3_cores_" + label,
                    {},
                    share->run / three->run,
                    "ratio",
                    "of that with the node's share"});
  }
  return {};
}

// (b) Synergy's curves.

struct Freed {
  double asked = 0, freed = 0;  // cores
  double slowdown = 0;          // summed over jobs
  double worst = 1;             // slowdown
  int jobs = 0;
  void Add(double cores_asked, double cores_given, double slower) {
    asked += cores_asked;
    freed += cores_asked - cores_given;
    slowdown += slower;
    worst = std::max(worst, slower);
    ++jobs;
  }
};

// A node that just holds the job, with 3 cores a GPU: what slim does not take is free for others.
core::Result<void> RunCurve(const SynergyCurve& curve, const simulation::SimulateOptions& options,
                            Freed& into) {
  const auto nodes = fmt::format("[[nodes]]\ngpus = {}\ngpu = \"V100\"\ncores = {}\n", curve.gpus,
                                 kAsked * curve.gpus);
  const core::Measurements measurements{{curve.profile}, {}};
  const auto job = JobOf(curve.profile.workload, curve.gpus, kAsked * curve.gpus);
  const auto asked = RunOne(measurements, job, nodes, "fifo+slot+asked", options);
  const auto slim = RunOne(measurements, job, nodes, "fifo+slot+slim", options);
  RETURN_IF_ERROR(asked);
  RETURN_IF_ERROR(slim);
  into.Add(asked->cores, slim->cores, slim->run / asked->run);
  return {};
}

// The most that can be freed: the fewest whole cores with at most 2 % slowdown, of the three.
Freed Bound(const std::vector<SynergyCurve>& curves, bool single) {
  Freed out;
  for (const auto& curve : curves) {
    if (single && curve.gpus > 1) continue;
    const auto at = [&](double cores) {
      return core::Throughput(curve.profile.cpu_curve, kAsked, cores);
    };
    double least = kAsked;
    while (least > 1 && at(least - 1) >= 0.98 * at(kAsked)) --least;
    out.Add(kAsked * curve.gpus, least * curve.gpus, at(kAsked) / at(least));
  }
  return out;
}

// All curves' jobs at once on Synergy's own nodes, where slim may also give more than was asked.
core::Result<void> MixedRows(const std::vector<SynergyCurve>& curves,
                             std::vector<ReproduceRow>& rows) {
  core::Measurements measurements;
  std::vector<trace::TraceJob> jobs;
  int gpus = 0;
  for (const auto& curve : curves) {
    if (curve.gpus > 8) continue;
    measurements.profiles.push_back(curve.profile);
    jobs.push_back(JobOf(curve.profile.workload, curve.gpus, kAsked * curve.gpus));
    gpus += curve.gpus;
  }
  auto cluster = ClusterOf(
      fmt::format("[[nodes]]\ncount = {}\ngpus = 8\ngpu = \"V100\"\ncores = 24\n", (gpus + 7) / 8));
  RETURN_IF_ERROR(cluster);
  const auto scenario = World(std::move(jobs), *std::move(cluster), measurements, "coda");
  RETURN_IF_ERROR(scenario);
  const auto asked = RunAll(*scenario, "fifo+slot+asked", ExactOptions());
  const auto slim = RunAll(*scenario, "fifo+slot+slim", ExactOptions());
  RETURN_IF_ERROR(asked);
  RETURN_IF_ERROR(slim);
  const auto note = fmt::format(
      "{} jobs at once on {} nodes of 8 V100 and 24 cores; slim gives more than 3 where it helps",
      slim->summary.jobs, (gpus + 7) / 8);
  rows.push_back({"synergy_mixed_jct_mean_vs_asked",
                  {},
                  *slim->summary.jct.mean / *asked->summary.jct.mean - 1,
                  "ratio",
                  note});
  rows.push_back({"synergy_mixed_makespan_vs_asked",
                  {},
                  *slim->summary.makespan / *asked->summary.makespan - 1,
                  "ratio",
                  note});
  return {};
}

core::Result<void> SynergyRows(const std::vector<SynergyCurve>& curves,
                               const ReproduceOptions& options, std::vector<ReproduceRow>& rows) {
  const Freed bound = Bound(curves, false);
  const Freed single = Bound(curves, true);
  Freed exact;
  Freed noisy;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (options.progress) options.progress("Synergy's curves", i, curves.size());
    if (auto ok = RunCurve(curves[i], ExactOptions(), exact); !ok) return ok;
    for (int seed = 1; seed <= options.seeds; ++seed) {
      simulation::SimulateOptions run = ExactOptions();
      run.belief.figures = 0.154;
      run.belief.seed =
          static_cast<std::uint64_t>(seed) * 1000 + i;  // one job a world: its own draw
      if (auto ok = RunCurve(curves[i], run, noisy); !ok) return ok;
    }
  }
  const auto add = [&](const char* what, double ours, const char* unit, std::string note) {
    rows.push_back({what, {}, ours, unit, std::move(note)});
  };
  const auto slowdown = [](const Freed& f) { return f.slowdown / f.jobs; };
  add("synergy_freed_bound", bound.freed / bound.asked, "ratio",
      fmt::format("of 3 cores a GPU, {} curves, whole cores, at most 2 % slower", bound.jobs));
  add("synergy_freed_bound_1_gpu", single.freed / single.asked, "ratio",
      fmt::format("the same, the {} jobs of one GPU", single.jobs));
  add("synergy_freed_slim", exact.freed / exact.asked, "ratio", "exact belief");
  add("synergy_slim_of_bound", exact.freed / bound.freed, "ratio", "exact belief");
  add("synergy_slowdown_slim", slowdown(exact), "times",
      fmt::format("mean over jobs, against 3 cores a GPU; worst {:.3f}", exact.worst));
  add("synergy_freed_slim_noisy", noisy.freed / noisy.asked, "ratio", "belief noisy:0.154");
  add("synergy_slim_of_bound_noisy", noisy.freed / noisy.asked / (bound.freed / bound.asked),
      "ratio", "belief noisy:0.154: slim plans on the upper bound of the cores a job can use");
  add("synergy_slowdown_slim_noisy", slowdown(noisy), "times",
      fmt::format("mean over jobs, against 3 cores a GPU; worst {:.3f}", noisy.worst));
  return MixedRows(curves, rows);
}

// (c) CPU-only jobs beside training jobs.

struct Beside {
  double training = 0;  // speed
  double cpu_only = 0;
};

constexpr int kTraining = 4;
constexpr int kCpuOnly = 4;

// The training jobs first, then the CPU-only jobs, which run on and want as much again as there is.
// Then a small job every minute: a policy decides when something happens, and on a node where
// nothing does it would notice the contention only when a job ends.
std::vector<trace::TraceJob> JobsBeside(const core::Workload& workload) {
  std::vector<trace::TraceJob> jobs;
  for (int i = 0; i < kTraining; ++i) {
    jobs.push_back(JobOf(workload, 1, 8));
    jobs.back().id = fmt::format("training-{}", i);
  }
  for (int i = 0; i < kCpuOnly; ++i) {
    trace::TraceJob job;
    job.id = fmt::format("cpu-{}", i);
    job.gpus = 0;
    job.cores = 4;
    job.duration = kLength * 10;
    job.host_bandwidth = core::GBps(25);
    jobs.push_back(std::move(job));
  }
  for (int minute = 1; minute <= 180; ++minute) {
    trace::TraceJob job;
    job.id = fmt::format("small-{}", minute);
    job.gpus = 0;
    job.cores = 1;
    job.duration = core::Seconds(1);
    job.submit = core::Seconds(60.0 * minute);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

core::Result<Beside> MeanSpeeds(const simulation::Scenario& scenario, const std::string& policy) {
  const auto run = RunAll(scenario, policy, ExactOptions());
  RETURN_IF_ERROR(run);
  Figures figures;
  for (std::size_t j = 0; j < kTraining + kCpuOnly; ++j) {
    figures.Add(scenario.jobs[j].gpus > 0 ? "training" : "cpu",
                scenario.truth[j].work / run->outcomes[j].run_time);
  }
  return Beside{figures.Mean("training"), figures.Mean("cpu")};
}

core::Result<void> BesideRows(std::vector<ReproduceRow>& rows) {
  struct Case {
    const char* label;
    core::Workload workload;
    double paper;  // speed under the highest pressure
    const char* note;
  };
  for (const Case& c :
       {Case{"alexnet",
             {"tv:alexnet@224", 128, "bf16", 4},
             0.5,
             "the paper: up to about 50 % lost, 1N1G"},
        Case{"resnet50", {"tv:resnet50@224", 64, "bf16", 4}, 1.0, "the paper: insensitive in 1N1G"},
        Case{"vgg16", {"tv:vgg16@224", 64, "bf16", 4}, 1.0, "the paper: insensitive in 1N1G"},
        Case{"transformer",
             {"enc:512x6", 32, "bf16", 1},
             0.5,
             "the paper: language models lose at least 50 %, 1N1G"}}) {
    auto cluster =
        ClusterOf("[[nodes]]\ngpus = 4\ngpu = \"H200\"\ncores = 64\nmemory_bandwidth_gbs = 50\n");
    RETURN_IF_ERROR(cluster);
    const auto scenario =
        World(JobsBeside(c.workload), *std::move(cluster), catalogue::FirstSitting(), "coda");
    RETURN_IF_ERROR(scenario);
    const auto asked = MeanSpeeds(*scenario, "fifo+slot+asked");
    const auto slim = MeanSpeeds(*scenario, "fifo+slot+slim");
    RETURN_IF_ERROR(asked);
    RETURN_IF_ERROR(slim);
    const std::string label = c.label;
    rows.push_back({"speed_beside_cpu_jobs_" + label, c.paper, asked->training, "ratio",
                    std::string("asked: CPU-only jobs not slowed; ") + c.note});
    rows.push_back({"speed_beside_cpu_jobs_slim_" + label,
                    {},
                    slim->training,
                    "ratio",
                    "slim: CPU-only jobs give way"});
    rows.push_back({"cpu_job_speed_" + label,
                    {},
                    asked->cpu_only,
                    "ratio",
                    "asked: over their whole run, which outlasts the training"});
    rows.push_back({"cpu_job_speed_slim_" + label,
                    {},
                    slim->cpu_only,
                    "ratio",
                    "slim: what giving way costs them"});
  }
  return {};
}

core::Result<void> NetworkRow(std::vector<ReproduceRow>& rows) {
  const core::Measurements measurements = catalogue::FirstSitting();
  const auto job = JobOf({"tv:resnet50@224", 64, "bf16", 4}, 4, {});
  const std::string node = "gpu = \"H200\"\nnetwork_gbs = 1.25\n";  // 10 Gb/s
  const auto one =
      RunOne(measurements, job, "[[nodes]]\ngpus = 4\n" + node, "slot", ExactOptions());
  const auto two =
      RunOne(measurements, job, "[[nodes]]\ncount = 2\ngpus = 2\n" + node, "slot", ExactOptions());
  RETURN_IF_ERROR(one);
  RETURN_IF_ERROR(two);
  rows.push_back({"gang_2_nodes_10_gbps", -0.275, one->run / two->run - 1, "ratio",
                  "two nodes of two GPUs against one of four; ours is set to the middle of the "
                  "paper's 25-30 %"});
  return {};
}

}  // namespace

core::Result<Experiment> Coda(const ReproduceOptions& options) {
  Experiment out;
  out.title = "slimming the cores, and CPU-only jobs beside training";
  out.assumptions = {
      "cores_needed_*: the fewest of 1, 2, 4, 8 and 16 cores that keep 97 % of the best "
      "throughput, each loop on a real CPU set beside one H200 with as many loader processes "
      "(data/h200/cores.csv). The paper draws its optimal core numbers (figure 4) and tells none; "
      "it tells that simpler image models need more.",
      "cores_slim_*: one job on our own machine (one H200, 16 cores), its curve from runs with "
      "several counts of loader processes; slim keeps 98 % of the throughput.",
      "speed_beside_cpu_jobs_*: 4 training jobs of one GPU and 4 CPU-only jobs that want 25 GB/s "
      "each, on a node of 50 GB/s, where a small job comes every minute. Of a training step only "
      "the part without kernels suffers; host traffic of a training job is taken as twice its PCIe "
      "traffic.",
  };
  RETURN_IF_ERROR(CodaMeasured(out));
  RETURN_IF_ERROR(OwnRows(out.rows));
  const auto curves =
      options.own_data_only ? core::Result<std::vector<SynergyCurve>>{} : ReadSynergy(options.data);
  RETURN_IF_ERROR(curves);
  if (curves->empty()) {
    out.assumptions.push_back(
        "Synergy's 33 CPU curves are not here, so the rows synergy_* are left out: put "
        "synergy/synergy_cpu_mem_sensitivity.csv (made from github.com/msr-fiddle/synergy, MIT) "
        "into a folder and name it with SHAREWELL_TEST_DATA.");
  } else {
    out.assumptions.push_back(
        "synergy_*: throughput against cores of Synergy's models on V100, largest memory; each job "
        "alone on a node that has 3 cores a GPU, as asked.");
    RETURN_IF_ERROR(SynergyRows(*curves, options, out.rows));
  }
  RETURN_IF_ERROR(BesideRows(out.rows));
  RETURN_IF_ERROR(NetworkRow(out.rows));
  return out;
}

}  // namespace sharewell::research::reproduce
