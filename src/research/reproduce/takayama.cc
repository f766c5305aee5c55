#include "research/reproduce/takayama.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "core/result.h"
#include "research/reproduce/experiment.h"
#include "research/reproduce/takayama_tables.h"

namespace sharewell::research::reproduce {
namespace {

// The order asks no gain: the placement plans by gain already, and within a generation first come,
// first served starves no type. Named whole, so that the figure does not hang on how `match` is
// composed.
constexpr const char* kMatch = "fifo+match+asked";
constexpr const char* kAnyFree = "slot";
constexpr const char* kSharewell = "sharewell";
constexpr double kMachines = 10;  // of each generation

// Table X.
struct PaperRow {
  int jobs;
  double proposed, even;  // seconds
  double reduced;         // share
};
constexpr std::array<PaperRow, 6> kTableX{{
    {200, Clock(74, 30, 0), Clock(81, 11, 27), 0.08241},
    {400, Clock(149, 0, 0), Clock(162, 22, 54), 0.08241},
    {600, Clock(223, 30, 0), Clock(243, 34, 21), 0.08241},
    {800, Clock(298, 0, 0), Clock(324, 45, 48), 0.08241},
    {1000, Clock(372, 30, 0), Clock(405, 57, 15), 0.08241},
    {10000, Clock(3724, 42, 0), Clock(4059, 32, 33), 0.08248},
}};

core::Measurements TableIx() {
  core::Measurements out;
  for (const TakayamaType& type : kTakayamaTypes) {
    for (const auto& [gpu, seconds] :
         {std::pair("V100-16GB", type.v100), std::pair("P100", type.p100)}) {
      core::Profile profile;
      profile.workload.name = type.name;
      profile.gpu = gpu;
      profile.steps_per_second = 1 / seconds;  // a whole run is one step
      profile.busy = type.busy;
      out.profiles.push_back(std::move(profile));
    }
  }
  return out;
}

// Round robin over the types. `evenly`: every other job of a type on the V100, the rest on the
// P100.
core::Result<simulation::Scenario> JobsAtOnce(int jobs, bool evenly) {
  std::vector<trace::TraceJob> trace;
  for (int i = 0; i < jobs; ++i) {
    const auto type = static_cast<std::size_t>(i) % kTakayamaTypes.size();
    trace::TraceJob job;
    job.id = fmt::format("{}-{}", kTakayamaTypes[type].name, i);
    job.workload = core::Workload{kTakayamaTypes[type].name, 0, "", 0};
    job.steps = 1;
    if (evenly) {
      const auto nth = static_cast<std::size_t>(i) / kTakayamaTypes.size() + type;
      job.gpu_models = {nth % 2 == 0 ? "V100-16GB" : "P100"};
    }
    trace.push_back(std::move(job));
  }
  auto cluster = ClusterOf("10x1xV100-16GB+10x1xP100");
  RETURN_IF_ERROR(cluster);
  return World(std::move(trace), *std::move(cluster), TableIx(), "takayama");
}

// As if jobs could be cut: the same number of each type, to a fraction.
struct Fluid {
  double slower_half = 0;  // even assignment, the P100s waited for
  double any_free = 0;
  double gain_order = 0;  // V100 from the top of the gain order, P100 from the bottom
};

Fluid FluidBounds(int jobs) {
  const double each = jobs / static_cast<double>(kTakayamaTypes.size());
  double v100 = 0;
  double p100 = 0;
  for (const TakayamaType& type : kTakayamaTypes) {
    v100 += type.v100 * each;
    p100 += type.p100 * each;
  }
  Fluid out;
  out.slower_half = p100 / 2 / kMachines;
  out.any_free = 1 / (kMachines / v100 + kMachines / p100);
  auto by_gain = kTakayamaTypes;
  std::sort(by_gain.begin(), by_gain.end(), [](const TakayamaType& a, const TakayamaType& b) {
    return a.p100 * b.v100 > b.p100 * a.v100;
  });
  double fast = 0;
  double slow = p100;
  for (const TakayamaType& type : by_gain) {
    const double share = std::clamp((slow - fast) / ((type.v100 + type.p100) * each), 0.0, 1.0);
    fast += share * each * type.v100;
    slow -= share * each * type.p100;
  }
  out.gain_order = std::max(fast, slow) / kMachines;
  return out;
}

// GPU seconds when half of each type's jobs runs on each generation.
double EvenGpuSeconds(int jobs) {
  double sum = 0;
  for (int i = 0; i < jobs; ++i) {
    const TakayamaType& type = kTakayamaTypes[static_cast<std::size_t>(i) % kTakayamaTypes.size()];
    sum += (type.v100 + type.p100) / 2;
  }
  return sum;
}

struct Outcome {
  double makespan = 0;
  double gpu_seconds = 0;
  double wait = 0;  // mean over jobs, before they start
};

core::Result<Outcome> Run(const simulation::Scenario& scenario, const std::string& policy,
                          double patience, int jobs_on_gpu) {
  simulation::SimulateOptions options = ExactOptions();
  options.policy.match_patience = patience;
  options.policy.max_jobs_on_gpu = jobs_on_gpu;
  auto run = RunAll(scenario, policy, options);
  RETURN_IF_ERROR(run);
  return Outcome{*run->summary.makespan, run->summary.gpu_hours * 3600,
                 *run->summary.queueing.mean};
}

// The bound of the rows "bounded": nobody waits for its model longer than it runs.
constexpr double kOwnDuration = 1;

// Beyond this many jobs sharewell is left out: it takes seconds, and says nothing new.
constexpr int kMostSharewell = 1000;

struct Outcomes {
  Outcome even, any_free, match, bounded;
  std::optional<Outcome> sharewell, sharing;
};

core::Result<Outcomes> RunEach(int jobs) {
  const auto free = JobsAtOnce(jobs, false);
  const auto split = JobsAtOnce(jobs, true);
  RETURN_IF_ERROR(free);
  RETURN_IF_ERROR(split);
  const policy::Options usual;
  const double never = std::numeric_limits<double>::infinity();
  Outcomes out;
  for (const auto& [scenario, policy, patience, into] :
       {std::tuple(&*split, kAnyFree, kOwnDuration, &out.even),
        std::tuple(&*free, kAnyFree, kOwnDuration, &out.any_free),
        std::tuple(&*free, kMatch, never, &out.match),
        std::tuple(&*free, kMatch, kOwnDuration, &out.bounded)}) {
    auto outcome = Run(*scenario, policy, patience, 1);
    RETURN_IF_ERROR(outcome);
    *into = *outcome;
  }
  if (jobs > kMostSharewell) return out;
  for (const auto& [jobs_on_gpu, into] :
       {std::pair(1, &out.sharewell), std::pair(usual.max_jobs_on_gpu, &out.sharing)}) {
    auto outcome = Run(*free, kSharewell, kOwnDuration, jobs_on_gpu);
    RETURN_IF_ERROR(outcome);
    *into = *outcome;
  }
  return out;
}

void AddRows(const PaperRow& paper, const Outcomes& o, std::vector<ReproduceRow>& rows) {
  const std::string suffix = paper.jobs == 200 ? "" : fmt::format("_{}", paper.jobs);
  const double even = EvenGpuSeconds(paper.jobs);
  const Fluid fluid = FluidBounds(paper.jobs);
  const auto change = [&](const char* what, double ours, double base, const char* note,
                          std::optional<double> theirs = {}) {
    rows.push_back({what + suffix, theirs, ours / base - 1, "ratio", note});
  };
  const auto hours = [&](const char* what, double seconds, std::string note,
                         std::optional<double> theirs = {}) {
    if (theirs) theirs = *theirs / 3600;
    rows.push_back({what + suffix, theirs, seconds / 3600, "h", std::move(note)});
  };
  change("gpu_time_vs_even", o.match.gpu_seconds, even,
         "match without fairness bound, against half of each type on each generation",
         -paper.reduced);
  change("gpu_time_vs_even_bounded", o.bounded.gpu_seconds, even,
         "match with a bound (--patience 1): nobody waits for its model longer than it runs");
  change("gpu_time_vs_even_any_free", o.any_free.gpu_seconds, even,
         "slot: any free machine takes the next job");
  change("makespan_vs_any_free", o.match.makespan, o.any_free.makespan,
         "match without fairness bound, against slot");
  change("makespan_vs_any_free_bounded", o.bounded.makespan, o.any_free.makespan,
         "match with that bound, against slot");
  change("makespan_vs_even", o.match.makespan, o.even.makespan,
         "match without fairness bound, against the even assignment simulated");
  change("fairness_price_gpu_time", o.bounded.gpu_seconds, o.match.gpu_seconds,
         "match: what its bound costs in GPU time");
  change("fairness_price_makespan", o.bounded.makespan, o.match.makespan,
         "match: what its bound costs in makespan");
  hours("wait_mean_match", o.match.wait, "before the start, mean over jobs, no fairness bound");
  hours("wait_mean_match_bounded", o.bounded.wait, "with the bound");
  hours("wait_mean_any_free", o.any_free.wait, "slot");
  hours("makespan_match", o.match.makespan, ClockTime(o.match.makespan), paper.proposed);
  hours("makespan_match_bounded", o.bounded.makespan, ClockTime(o.bounded.makespan));
  hours("makespan_any_free", o.any_free.makespan, ClockTime(o.any_free.makespan));
  hours("makespan_even", o.even.makespan, ClockTime(o.even.makespan), paper.even);
  hours("fluid_even_slower_half", fluid.slower_half, ClockTime(fluid.slower_half));
  hours("fluid_any_free", fluid.any_free, ClockTime(fluid.any_free));
  hours("fluid_gain_order", fluid.gain_order, ClockTime(fluid.gain_order));
  if (o.sharewell && o.sharing) {
    change("gpu_time_vs_even_sharewell", o.sharewell->gpu_seconds, even,
           "sharewell, one job a GPU as the paper assumes");
    change("makespan_vs_any_free_sharewell", o.sharewell->makespan, o.any_free.makespan,
           "sharewell, one job a GPU, against slot");
    change("makespan_vs_any_free_sharing", o.sharing->makespan, o.any_free.makespan,
           "sharewell, up to three jobs a GPU, against slot");
    hours("makespan_sharewell", o.sharewell->makespan, ClockTime(o.sharewell->makespan));
    hours("makespan_sharing", o.sharing->makespan, ClockTime(o.sharing->makespan));
  }
}

PaperGrid TableX() {
  return {
      "Table X",
      "makespan in h:m:s, and GPU time saved against the even assignment. The paper's hours do not "
      "follow from its Table IX; its saving does",
      {"jobs", "proposed, theirs", "evenly, theirs", "saved, theirs", "`match`", "evenly",
       "GPU time saved by `match`", "with its fairness bound", "`sharewell`, one job a GPU",
       "`sharewell`, sharing", "GPU time saved by `sharewell`, one job a GPU"},
      {}};
}

std::vector<std::string> TableXRow(const PaperRow& paper, const Outcomes& o) {
  const double even = EvenGpuSeconds(paper.jobs);
  const auto saved = [&](const Outcome& outcome) {
    return fmt::format("{:.3f} %", 100 * (1 - outcome.gpu_seconds / even));
  };
  return {fmt::format("{}", paper.jobs),
          ClockTime(paper.proposed),
          ClockTime(paper.even),
          fmt::format("{:.3f} %", 100 * paper.reduced),
          ClockTime(o.match.makespan),
          ClockTime(o.even.makespan),
          saved(o.match),
          saved(o.bounded),
          o.sharewell ? ClockTime(o.sharewell->makespan) : "-",
          o.sharing ? ClockTime(o.sharing->makespan) : "-",
          o.sharewell ? saved(*o.sharewell) : "-"};
}

}  // namespace

core::Result<Experiment> Takayama(const ReproduceOptions& options) {
  Experiment out;
  out.title = "the better GPU generation to who gains most";
  out.assumptions = {
      std::string("Table IX's run times on V100 and P100, Table VI's GPU utilisation; jobs round "
                  "robin over the nine types, all at time 0, on 10 + 10 machines of one GPU."),
      "Durations and figures are known exactly, starting costs nothing.",
      std::string("The paper's hours do not follow from its Table IX on 10 + 10 machines, whatever "
                  "assignment we tried: compare percentages, and see against what each is."),
      "match is fifo+match+asked: each generation first come, first served.",
      std::string(
          "_sharing: up to three jobs a GPU, slowed as our model of sharing expects of their GPU "
          "utilisation; what else they need is not told. Everywhere else one job a GPU."),
  };
  PaperGrid table_x = TableX();
  for (std::size_t i = 0; i < kTableX.size(); ++i) {
    if (options.progress) options.progress("runs", i, kTableX.size());
    const auto outcomes = RunEach(kTableX[i].jobs);
    RETURN_IF_ERROR(outcomes);
    AddRows(kTableX[i], *outcomes, out.rows);
    table_x.rows.push_back(TableXRow(kTableX[i], *outcomes));
  }
  RETURN_IF_ERROR(TakayamaTables(out));
  out.grids.push_back(std::move(table_x));
  if (options.progress) options.progress("runs", kTableX.size(), kTableX.size());
  return out;
}

}  // namespace sharewell::research::reproduce
