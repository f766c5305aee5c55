#include "research/reproduce/yeung_real.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "catalogue/builtin_measurements.h"
#include "core/numbers/statistics.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "interference/interference.h"
#include "research/reproduce/experiment.h"
#include "research/reproduce/real_run.h"

namespace sharewell::research::reproduce {
namespace {

using core::Result;
using core::UsageError;
using Number = std::optional<double>;

constexpr double kBar = 0.10;            // of the simulator's makespan
constexpr double kSlowdownBound = 1.25;  // of a job by its neighbours

// How long each job would take alone: by what the server was told of its rate, and (`here`) as it
// was seen alone on this machine, in a run under slot or before and after this one. Start-up is as
// seen.
std::vector<trace::TraceJob> JobsAlone(const RealRun& run, const RealRun* slot, bool here) {
  std::vector<trace::TraceJob> out;
  for (std::size_t i = 0; i < run.jobs.size(); ++i) {
    const RealJob& job = run.jobs[i];
    const RealJob& quiet = slot == nullptr ? job : slot->jobs[i];
    trace::TraceJob traced;
    traced.id = fmt::format("{}", i + 1);
    traced.submit = core::Seconds(job.submit);
    traced.workload = job.workload;
    traced.busy = job.told.busy;
    traced.cores = job.cores;
    const double seen = quiet.end - quiet.start;
    // All but its steps: start-up, and leaving.
    double around = quiet.steady ? *quiet.steady - quiet.start : 0;
    if (quiet.rate && quiet.steps) around = seen - *quiet.steps / *quiet.rate;
    around = std::clamp(around, 0.0, seen);
    Number work = job.told_duration;
    if (job.steps && job.told.steps_per_second) work = *job.steps / *job.told.steps_per_second;
    traced.startup = core::Seconds(around);
    if (here) work = slot == nullptr ? *job.steps / *job.alone_rate : seen - around;
    traced.duration = core::Seconds(work.value_or(seen - around));
    if (traced.duration->value <= 0) traced.duration = core::Seconds(0.001);
    out.push_back(std::move(traced));
  }
  return out;
}

// What is carried in the program, and what the server was told of jobs that it does not have. What
// they take of the host is as told: stubs take less.
core::Measurements Known(const RealRun& run) {
  core::Measurements all = catalogue::BuiltinMeasurements();
  for (const RealJob& job : run.jobs) {
    if (!job.told.busy) continue;
    const auto at = std::find_if(all.profiles.begin(), all.profiles.end(),
                                 [&job](const auto& p) { return p.workload == job.workload; });
    if (at == all.profiles.end()) {
      all.profiles.push_back(job.told);
    } else {
      at->cpu_cores = job.told.cpu_cores;
      at->host_memory = job.told.host_memory;
    }
  }
  return all;
}

// The model of sharing as it is, without measured pairs: the server began without any and decided
// by the model. Nor are its errors drawn: this is what it expects.
interference::Interference ModelAlone() {
  interference::Coefficients coefficients;
  coefficients.residual = coefficients.residual_of_three = 0;
  return interference::Interference({}, coefficients);
}

bool KnowsAlone(const RealRun& run) {
  return std::all_of(run.jobs.begin(), run.jobs.end(), [](const RealJob& job) {
    return job.alone_here && job.alone_rate && job.steps;
  });
}

// REQUIRES: `here` has a record under slot, or a run that KnowsAlone.
Result<simulation::Summary> Simulated(const RealRun& run, const RealRun* slot, bool here,
                                      const std::string& policy) {
  auto cluster = ClusterOf(run.cluster);
  RETURN_IF_ERROR(cluster);
  auto scenario = World(JobsAlone(run, slot, here), *std::move(cluster), Known(run), "the mix");
  if (!scenario) return tl::unexpected(std::move(scenario.error()).Within(run.file));
  scenario->interference = ModelAlone();
  auto done = RunAll(*scenario, policy, ExactOptions());
  if (!done) return tl::unexpected(std::move(done.error()).Within(run.file));
  return done->summary;
}

// By neighbours: the rate alone over the rate it had, once warm; of the jobs that tell both.
std::vector<double> Slowdowns(const RealRun& run, const RealRun* slot) {
  std::vector<double> out;
  for (std::size_t i = 0; i < run.jobs.size(); ++i) {
    const Number alone = slot != nullptr ? slot->jobs[i].rate : run.jobs[i].alone_rate;
    if (alone && run.jobs[i].rate) out.push_back(*alone / *run.jobs[i].rate);
  }
  return out;
}

Result<void> AddSimulated(const RealRun& run, const RealRun* slot, Experiment& out) {
  for (const bool here : {false, true}) {
    if (here && slot == nullptr && !KnowsAlone(run)) continue;
    const auto simulated = Simulated(run, slot, here, run.policy);
    RETURN_IF_ERROR(simulated);
    const std::string suffix = here ? "_here" : "";
    const double off = *simulated->makespan / run.Makespan() - 1;
    out.rows.push_back({"makespan_simulated" + suffix + "_" + run.policy,
                        {},
                        *simulated->makespan,
                        "s",
                        here ? "the simulator, with times alone as seen on this machine"
                             : "the simulator, with rates as measured before (what the server was "
                               "told) and start-up as seen"});
    out.rows.push_back({"makespan_simulated" + suffix + "_off_" + run.policy,
                        {},
                        off,
                        "ratio",
                        fmt::format("against the real one; the limit is {:.0f} %: {}", kBar * 100,
                                    std::abs(off) <= kBar ? "kept" : "missed")});
    out.rows.push_back({"slowdown_simulated" + suffix + "_" + run.policy,
                        {},
                        simulated->slowdown_mean,
                        "times",
                        "by neighbours, in the simulator; mean over jobs"});
  }
  if (slot == nullptr && KnowsAlone(run)) {
    const auto simulated = Simulated(run, nullptr, true, "slot");
    RETURN_IF_ERROR(simulated);
    out.rows.push_back({"makespan_vs_simulated_slot_" + run.policy,
                        {},
                        run.Makespan() / *simulated->makespan - 1,
                        "ratio",
                        fmt::format("against slot in the simulator, {:.0f} s, with times alone as "
                                    "seen on this machine: slot itself was not run",
                                    *simulated->makespan)});
  }
  return {};
}

void AddReal(const RealRun& run, const RealRun* slot, Experiment& out) {
  const std::string& name = run.policy;
  const auto add = [&out, &name](const char* what, Number paper, Number ours, const char* unit,
                                 std::string note = "") {
    out.rows.push_back({what + ("_" + name), paper, ours, unit, std::move(note)});
  };
  if (slot != nullptr && slot != &run) {
    add("makespan_vs_slot", -0.335, run.Makespan() / slot->Makespan() - 1, "ratio");
    add("jct_mean_vs_slot", {}, run.Jct() / slot->Jct() - 1, "ratio",
        "submit to finish; the paper's JCT is run time");
    Number ratio;
    if (run.busy && slot->busy && *slot->busy > 0) ratio = *run.busy / *slot->busy;
    add("busy_vs_slot", 1.615, ratio, "times", ratio ? "" : "no samples of a GPU");
  }
  const auto finished = static_cast<double>(std::count_if(
      run.jobs.begin(), run.jobs.end(), [](const auto& job) { return job.finished; }));
  int again = 0;
  double run_time = 0;
  for (const RealJob& job : run.jobs) {
    again += std::max(0, job.attempts - 1);
    run_time += (job.end - job.start) / static_cast<double>(run.jobs.size());
  }
  const std::map<std::string, std::pair<double, double>> paper = {
      {"slot", {0.431, 1869}}, {"reactive", {0.471, 2193}}, {"pack", {0.696, 2024}}};
  const auto theirs = paper.find(name);
  const bool known = theirs != paper.end();
  add("makespan", {}, run.Makespan(), "s");
  add("busy", known ? Number(theirs->second.first) : Number(), run.busy, "ratio",
      run.busy ? "NVML utilisation, mean over the makespan" : "no samples of a GPU");
  add("run_time", known ? Number(theirs->second.second) : Number(), run_time, "s",
      "first start to finish: what the paper calls JCT; its jobs are longer");
  add("jct", {}, run.Jct(), "s", "submit to finish");
  const auto slowdowns = Slowdowns(run, slot);
  add("slowdown_mean", {}, core::Mean(slowdowns), "times",
      slot != nullptr   ? "rate under slot over rate here, mean over jobs"
      : KnowsAlone(run) ? "rate alone on this machine over rate here, mean over jobs"
                        : "rate of the profile over rate here, mean over jobs");
  Number above;
  if (!slowdowns.empty()) {
    above = static_cast<double>(std::count_if(slowdowns.begin(), slowdowns.end(),
                                              [](double s) { return s > kSlowdownBound; }));
  }
  add("slowdown_above_bound", {}, above, "count",
      fmt::format("jobs slowed more than {:g} times, of {} whose slowdown is known", kSlowdownBound,
                  slowdowns.size()));
  add("jobs_finished", {}, finished, "count", fmt::format("of {}", run.jobs.size()));
  add("started_again", {}, again, "count", "evicted, or out of memory");
}

// What the policies went by. The paper's scheduler predicts utilisation; the server of a mix is
// told what was measured of each workload, and a prediction only where nothing was.
void DescribeNeeds(const std::vector<RealRun>& runs, Experiment& out) {
  int measured = 0, predicted = 0;
  for (const RealRun& run : runs) {
    for (const RealJob& job : run.jobs) {
      if (job.told_measured) ++(*job.told_measured ? measured : predicted);
    }
  }
  const char* by = "measured and predicted utilisation";
  if (predicted == 0) by = "measured utilisation";
  if (measured == 0) by = "predicted utilisation";
  if (measured + predicted == 0) by = "utilisation of unknown source";
  out.title = fmt::format("co-location by {}, on a real machine", by);
  if (measured > 0) {
    out.assumptions.emplace_back(
        predicted == 0
            ? "What each job needs had been measured and was told to the server; the paper's "
              "scheduler predicts it."
            : "What some jobs need had been measured, what others need was predicted, and the "
              "server "
              "was told both; the paper's scheduler predicts all of it.");
  }
}

}  // namespace

Result<Experiment> YeungReal(const std::vector<std::string>& files) {
  if (files.empty()) return UsageError("--real: give at least one record of a run");
  std::vector<RealRun> runs;
  std::set<std::string> policies;
  for (const std::string& file : files) {
    auto run = ReadRealRun(file);
    RETURN_IF_ERROR(run);
    if (!policies.insert(run->policy).second) {
      return UsageError("{}: there is a record of policy '{}' already; give one a policy",
                        core::Quoted(file), run->policy);
    }
    if (!runs.empty() &&
        (run->mix != runs.front().mix || run->jobs.size() != runs.front().jobs.size())) {
      return UsageError("{} is of another mix than {}; give records of one mix", core::Quoted(file),
                        core::Quoted(runs.front().file));
    }
    runs.push_back(std::move(*run));
  }
  const RealRun* slot = nullptr;
  for (const RealRun& run : runs) {
    if (run.policy == "slot") slot = &run;
  }
  Experiment out;
  out.name = "yeung";
  DescribeNeeds(runs, out);
  const bool stub = std::any_of(runs.begin(), runs.end(), [](const auto& r) { return r.stub; });
  if (stub) {
    out.assumptions.emplace_back(
        "The jobs were stub processes that sleep: this shows that records can be read, and says "
        "nothing of any GPU.");
  }
  out.assumptions.push_back(fmt::format(
      "{} jobs through the server, one run a policy; the paper: 100 jobs of 2 min to 2 h on 12 RTX "
      "2080.",
      runs.front().jobs.size()));
  if (runs.front().warm) {
    out.assumptions.emplace_back(
        "Jobs were forked from a process that had PyTorch imported, under every policy alike.");
  }
  out.assumptions.emplace_back(
      "The simulator runs the same policy over the same jobs and arrivals on this machine: exact "
      "belief, jobs slowed as the model of sharing expects.");
  if (slot == nullptr) {
    out.assumptions.emplace_back("No record under slot was given: nothing is compared with it.");
  }
  for (const RealRun& run : runs) {
    AddReal(run, slot, out);
    RETURN_IF_ERROR(AddSimulated(run, slot, out));
  }
  return out;
}

}  // namespace sharewell::research::reproduce
