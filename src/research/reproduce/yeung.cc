#include "research/reproduce/yeung.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "advice/prediction.h"
#include "catalogue/builtin_measurements.h"
#include "core/numbers/random.h"
#include "core/result.h"
#include "research/reproduce/experiment.h"
#include "research/reproduce/yeung_figures.h"
#include "research/reproduce/yeung_parts.h"
#include "research/reproduce/yeung_real.h"
#include "simulation/predicted_belief.h"

namespace sharewell::research::reproduce {
namespace {

constexpr int kJobs = 100;
constexpr const char* kCluster = "12x1xH200";
constexpr double kRmsle = 0.154;  // the paper's predictor
constexpr std::array kPolicies{"slot", "reactive", "pack", "sharewell"};
// One job a minute: 100 jobs come in 1 h 40 min, about 2.4 times what 12 slots can take.
constexpr core::Seconds kBetweenArrivals{60};

struct Variant {
  const char* suffix;
  double durations;  // error of believed durations
  bool poisson;
};
constexpr std::array<Variant, 3> kVariants{{
    {"", 0, false},
    {"_noisy_durations", 0.3, false},
    {"_poisson", 0, true},
}};

std::vector<trace::TraceJob> Jobs(std::uint64_t seed, bool poisson) {
  constexpr std::uint64_t kArrival = 0x6172726976616cULL;
  std::vector<trace::TraceJob> jobs;
  core::Seconds now;
  for (std::uint64_t i = 0; i < kJobs; ++i) {
    trace::TraceJob job;
    job.id = fmt::format("{}", i);
    job.duration = DrawnDuration(seed, i);
    if (poisson && i > 0) {
      now += kBetweenArrivals * -std::log(core::Uniform(core::HashOf({seed, i, kArrival})));
    }
    job.submit = now;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

// Our own scheduler told exactly what jobs need, and told what our predictor says of them.
core::Result<void> ComparePredicted(const simulation::Scenario& scenario,
                                    const predict::Predictor& predictor,
                                    simulation::SimulateOptions options, Figures& figures) {
  options.belief.predicted = simulation::PredictedBelief(scenario, predictor);
  const auto predicted = RunAll(scenario, "sharewell", options);
  RETURN_IF_ERROR(predicted);
  options.belief.predicted.clear();
  options.belief.figures = 0;
  const auto exact = RunAll(scenario, "sharewell", options);
  RETURN_IF_ERROR(exact);
  figures.Add("predicted_vs_exact", *predicted->summary.makespan / *exact->summary.makespan - 1);
  figures.Add("predicted_ooms", static_cast<double>(predicted->summary.ooms));
  return {};
}

core::Result<void> RunSeed(std::uint64_t seed, const Variant& variant,
                           const core::Measurements& measurements,
                           const predict::Predictor& predictor, Figures& figures) {
  auto cluster = ClusterOf(kCluster);
  RETURN_IF_ERROR(cluster);
  const auto scenario =
      World(Jobs(seed, variant.poisson), *std::move(cluster), measurements, "yeung", seed);
  RETURN_IF_ERROR(scenario);
  simulation::SimulateOptions options;
  options.belief = {kRmsle, variant.durations, seed};
  std::map<std::string, simulation::Summary> by_policy;
  for (const std::string policy : kPolicies) {
    const auto run = RunAll(*scenario, policy, options);
    RETURN_IF_ERROR(run);
    const simulation::Summary& s = by_policy[policy] = run->summary;
    figures.Add(policy + ".busy", *s.busy);
    figures.Add(policy + ".run", *s.run.mean);
    figures.Add(policy + ".jct", *s.jct.mean);
    figures.Add(policy + ".slowdown", *s.slowdown_mean);
    figures.Add(policy + ".ooms", static_cast<double>(s.ooms));
    figures.Add(policy + ".makespan", *s.makespan);
  }
  if (variant.suffix[0] == '\0') {
    if (auto ok = ComparePredicted(*scenario, predictor, options, figures); !ok) return ok;
  }
  for (const std::string policy : {"pack", "sharewell"}) {
    const simulation::Summary& s = by_policy[policy];
    for (const std::string base : {"slot", "reactive"}) {
      const simulation::Summary& b = by_policy[base];
      figures.Add(policy + ".makespan_vs_" + base, *s.makespan / *b.makespan - 1);
      figures.Add(policy + ".jct_mean_vs_" + base, *s.jct.mean / *b.jct.mean - 1);
    }
    figures.Add(policy + ".busy_vs_slot", *s.busy / *by_policy["slot"].busy);
  }
  return {};
}

void AddComparisons(const std::string& policy, const std::string& prefix, const Variant& variant,
                    const Figures& figures, std::vector<ReproduceRow>& rows) {
  // The paper ran one setting only.
  const bool theirs = variant.suffix[0] == '\0';
  const auto add = [&](const std::string& what, std::optional<double> paper, double ours,
                       const char* unit, const char* note = "") {
    rows.push_back(
        {prefix + what + variant.suffix, theirs ? paper : std::nullopt, ours, unit, note});
  };
  const auto mean = [&](const std::string& figure) { return figures.Mean(policy + "." + figure); };
  add("makespan_vs_slot", -0.335, mean("makespan_vs_slot"), "ratio");
  add("makespan_vs_reactive", -0.265, mean("makespan_vs_reactive"), "ratio");
  add("busy_vs_slot", 1.615, mean("busy_vs_slot"), "times");
  add("jct_mean_vs_slot", {}, mean("jct_mean_vs_slot"), "ratio",
      "submit to finish; the paper's JCT is run time: see run_time_*");
  add("jct_mean_vs_reactive", {}, mean("jct_mean_vs_reactive"), "ratio");
  add("slowdown_mean", {}, mean("slowdown"), "times", "by neighbours, mean over jobs");
  add("oom_count", {}, figures.Sum(policy + ".ooms"), "count", "over all seeds");
}

void AddAbsolutes(const Figures& figures, std::vector<ReproduceRow>& rows) {
  struct Paper {
    const char* policy;
    std::optional<double> busy, run;
  };
  for (const Paper& p : {Paper{"slot", 0.431, 1869}, Paper{"reactive", 0.471, 2193},
                         Paper{"pack", 0.696, 2024}, Paper{"sharewell", {}, {}}}) {
    const std::string name = p.policy;
    rows.push_back({"busy_" + name, p.busy, figures.Mean(name + ".busy"), "ratio",
                    "GPU utilisation, mean over GPUs and makespan"});
    rows.push_back({"run_time_" + name, p.run, figures.Mean(name + ".run"), "s",
                    "first start to finish: what the paper calls JCT, by its size"});
    rows.push_back(
        {"jct_" + name, {}, figures.Mean(name + ".jct"), "s", "submit to finish, queueing in"});
    rows.push_back({"makespan_" + name, {}, figures.Mean(name + ".makespan"), "s", ""});
  }
}

// The paper's Table 4 and ours, policy by policy: pack is the paper's scheduler as it built it.
PaperGrid TableFour(const Figures& figures) {
  PaperGrid grid{
      "Table 4",
      "`pack` is the paper's scheduler, `sharewell` ours; run time is what the paper calls JCT",
      {""},
      {}};
  for (const std::string policy : kPolicies) grid.columns.push_back(policy);
  const auto percent = [](double x) { return fmt::format("{:.1f} %", 100 * x); };
  const auto seconds = [](double x) { return fmt::format("{:.0f} s", x); };
  const auto ours = [&](const char* what, const std::string& figure, const auto& text) {
    std::vector<std::string> cells{what};
    for (const std::string policy : kPolicies) cells.push_back(text(figures.Mean(policy + figure)));
    grid.rows.push_back(std::move(cells));
  };
  const auto against = [&](const std::string& base, const char* paper) {
    grid.rows.push_back({"makespan against " + base + ", theirs", "-", "-", paper, "-"});
    std::vector<std::string> cells{"makespan against " + base + ", ours", "-", "-"};
    for (const std::string policy : {"pack", "sharewell"}) {
      cells.push_back(percent(figures.Mean(policy + ".makespan_vs_" + base)));
    }
    grid.rows.push_back(std::move(cells));
  };
  grid.rows.push_back({"GPU utilisation, theirs", "43.1 %", "47.1 %", "69.6 %", "-"});
  ours("GPU utilisation, ours", ".busy", percent);
  against("slot", "-33.5 %");
  against("reactive", "-26.5 %");
  grid.rows.push_back({"run time, theirs", "1869 s", "2193 s", "2024 s", "-"});
  ours("run time, ours", ".run", seconds);
  ours("submit to finish, ours", ".jct", seconds);
  ours("slowdown by neighbours, ours", ".slowdown",
       [](double x) { return fmt::format("{:.3f}", x); });
  return grid;
}

// What a laxer bound gains, where starts may be given less than all SMs and where not: the same
// jobs in the same world, told alike.
core::Result<Experiment> Frontier(const ReproduceOptions& options) {
  Experiment out;
  out.title = "makespan over the slowdown bound, sharewell";
  out.assumptions = {
      fmt::format("The jobs, the cluster and the belief of `reproduce yeung`; mean of seeds 1 to "
                  "{}.",
                  options.seeds),
      std::string("all_sms: the same policy, in the same world, with all SMs for every job."),
  };
  constexpr std::array kBounds{1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5};
  const core::Measurements measurements = catalogue::FirstSitting();
  const auto seeds = static_cast<std::size_t>(options.seeds);
  for (std::size_t b = 0; b < kBounds.size(); ++b) {
    Figures figures;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      if (options.progress) {
        options.progress("seeds", b * seeds + seed - 1, kBounds.size() * seeds);
      }
      auto cluster = ClusterOf(kCluster);
      RETURN_IF_ERROR(cluster);
      const auto scenario =
          World(Jobs(seed, false), *std::move(cluster), measurements, "yeung", seed);
      RETURN_IF_ERROR(scenario);
      simulation::SimulateOptions simulate;
      simulate.belief = {kRmsle, 0, seed};
      simulate.policy.max_slowdown = kBounds[b];
      for (const bool shares : {false, true}) {
        simulate.policy.sm_shares = shares;
        const auto run = RunAll(*scenario, "sharewell", simulate);
        RETURN_IF_ERROR(run);
        const std::string which = shares ? "" : "_all_sms";
        figures.Add("makespan" + which, *run->summary.makespan);
        figures.Add("slowdown" + which, *run->summary.slowdown_mean);
      }
    }
    for (const std::string which : {"_all_sms", ""}) {
      const std::string at = fmt::format("_{:.2f}{}", kBounds[b], which);
      out.rows.push_back({"makespan" + at, {}, figures.Mean("makespan" + which), "s", ""});
      out.rows.push_back({"slowdown_mean" + at, {}, figures.Mean("slowdown" + which), "times", ""});
    }
  }
  return out;
}

}  // namespace

core::Result<Experiment> Yeung(const ReproduceOptions& options) {
  if (!options.real.empty()) return YeungReal(options.real);
  if (options.frontier) return Frontier(options);
  if (options.part == "predictor") return YeungPredictor(options);
  if (options.part == "optimum") return YeungOptimum(options);
  if (!options.part.empty()) {
    return core::UsageError("there is no part '{}' of yeung; there are predictor and optimum",
                            options.part);
  }
  Experiment out;
  out.title = "co-location by predicted utilisation";
  out.assumptions = {
      fmt::format("{} jobs, workloads drawn by seed from what we measured on an H200, alone 2 min "
                  "to 2 h log-uniform, on {} (the paper: 12 RTX 2080, its own 81 workloads).",
                  kJobs, kCluster),
      fmt::format("Mean of seeds 1 to {}; a change is the mean of the seeds' own changes.",
                  options.seeds),
      fmt::format(
          "Belief: every figure times exp(N(0, {})), the paper's accuracy; durations exact, "
          "with _noisy_durations times exp(N(0, 0.3)).",
          kRmsle),
      fmt::format("_poisson: one job every {} s on average; else all at time 0.",
                  kBetweenArrivals.value),
      std::string("pack is the paper's own scheduler (first fit decreasing, 3 jobs a GPU); rows "
                  "without prefix are sharewell beside the same paper figures."),
      std::string(
          "The world runs on measured pairs, and beyond them on the interference model with "
          "a seeded residual that no policy sees."),
  };
  const core::Measurements measurements = catalogue::FirstSitting();
  const auto trained = advice::BuiltinModel();
  RETURN_IF_ERROR(trained);
  const auto seeds = static_cast<std::size_t>(options.seeds);
  const std::size_t all = kVariants.size() * seeds;
  std::size_t done = 0;
  for (const Variant& variant : kVariants) {
    Figures figures;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      if (options.progress) options.progress("seeds", done, all);
      RETURN_IF_ERROR(RunSeed(seed, variant, measurements, trained->predictor, figures));
      ++done;
    }
    AddComparisons("sharewell", "", variant, figures, out.rows);
    AddComparisons("pack", "pack_", variant, figures, out.rows);
    if (variant.suffix[0] != '\0') continue;
    out.rows.push_back({"makespan_predicted_vs_exact",
                        {},
                        figures.Mean("predicted_vs_exact"),
                        "ratio",
                        "sharewell told what our predictor says of families it had not seen"});
    out.rows.push_back(
        {"oom_count_predicted", {}, figures.Sum("predicted_ooms"), "count", "over all seeds"});
    AddAbsolutes(figures, out.rows);
    out.grids.push_back(TableFour(figures));
  }
  RETURN_IF_ERROR(AddYeungFigures(trained->predictor, out.rows));
  if (options.progress) options.progress("seeds", all, all);
  return out;
}

}  // namespace sharewell::research::reproduce
