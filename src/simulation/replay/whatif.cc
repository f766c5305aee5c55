#include "simulation/replay/whatif.h"

#include <algorithm>
#include <utility>

#include "control/loop/loop.h"
#include "core/numbers/statistics.h"
#include "core/result.h"
#include "engine/simulated/simulated_engine.h"
#include "policy/registry.h"
#include "simulation/replay/play.h"
#include "simulation/summary.h"

namespace sharewell::simulation {
namespace {

using core::JobRecord;

// The newest, by number; those that are over and those that live alike.
std::vector<const JobRecord*> Newest(JobRecords records, std::size_t most) {
  std::vector<const JobRecord*> kept(records.begin(), records.end());
  const auto newer = [](const JobRecord* a, const JobRecord* b) { return a->number > b->number; };
  if (kept.size() > most) {
    std::nth_element(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(most), kept.end(),
                     newer);
    kept.resize(most);
  }
  return kept;
}

struct Replayed {
  WhatIfRow row;
  CompletionTimes taken;
};

CompletionTimes TakenIn(const Scenario& scenario, const sim::World& world) {
  CompletionTimes taken(scenario.jobs.size());
  for (std::size_t j = 0; j < taken.size(); ++j) {
    const sim::JobOutcome& outcome = world.outcomes()[j];
    if (outcome.end != sim::JobOutcome::End::kFinished) continue;
    taken[j] = (outcome.finish - scenario.jobs[j].submit).value;
  }
  return taken;
}

core::Result<Replayed> Replay(const JobHistory& history, const std::string& name, std::size_t which,
                              const WhatIfOptions& options) {
  const Scenario& scenario = history.scenario;
  policy::Options policy_options;
  policy_options.max_slowdown = options.max_slowdown;
  policy_options.match_patience = options.match_patience;
  policy_options.interference = &scenario.interference;
  const auto policy = policy::NewPolicy(name, policy_options);
  RETURN_IF_ERROR(policy);
  sim::World world(scenario.cluster, scenario.jobs, scenario.truth, scenario.interference,
                   {1, options.restart_cost});
  engine::SimulatedEngine engine(world);
  core::Snapshot snapshot(scenario.cluster, options.restart_cost);
  PlayEstimator estimator(history.believed);
  PlayRecorder recorder(scenario.jobs.size());
  control::Loop loop(snapshot, **policy, engine, estimator, recorder);
  for (std::size_t turn = 0;; ++turn) {
    const auto more = loop.Turn();
    RETURN_IF_ERROR(more);
    if (!*more) break;
    if (options.progress && turn % 64 == 0) {
      const std::size_t live = snapshot.waiting().size() + snapshot.running().size();
      options.progress(which, snapshot.job_count() - live, scenario.jobs.size());
    }
  }
  world.Close();
  return Replayed{RowOf(name, scenario, Summarise(scenario, world, name, {}, 0), world.outcomes()),
                  TakenIn(scenario, world)};
}

double RecordedSeconds(core::UnixMillis from, core::UnixMillis to) {
  return static_cast<double>(to - from) / 1e3;
}

// The same figures from the records.
std::optional<WhatIfRow> Really(const JobHistory& history) {
  WhatIfRow row;
  row.name = "really";
  std::vector<double> jct, queueing, slowdown;
  std::optional<core::UnixMillis> first, last;
  double busy = 0;
  bool busy_known = true;
  GroupedTimes groups;
  for (std::size_t j = 0; j < history.job.size(); ++j) {
    const JobRecord* job = history.job[j];
    if (!core::IsOver(job->phase) || !job->ended) continue;
    ++row.jobs;
    row.finished += job->phase == core::Phase::kFinished ? 1U : 0U;
    row.moves += static_cast<std::size_t>(std::max(0, job->attempt - 1 - job->ooms));
    row.ooms += static_cast<std::size_t>(job->ooms);
    first = std::min(first.value_or(job->submitted), job->submitted);
    last = std::max(last.value_or(*job->ended), *job->ended);
    jct.push_back(RecordedSeconds(job->submitted, *job->ended));
    std::optional<double> wait;
    if (job->started) wait = RecordedSeconds(job->submitted, *job->started);
    if (wait) queueing.push_back(*wait);
    groups.Add(history.scenario.jobs[j].user.index(), job->asked.gpus, wait, jct.back());
    if (job->alone_time && job->alone_time->value > 0 && job->run_time.value > 0) {
      slowdown.push_back(std::max(1.0, job->run_time / *job->alone_time));
    } else if (job->slowdown) {
      slowdown.push_back(*job->slowdown);
    }
    if (job->asked.gpus == 0) continue;
    const auto& share = job->believed.profile.busy;
    busy_known = busy_known && share && job->alone_time;
    if (busy_known) busy += *share * job->alone_time->value * job->asked.gpus;
  }
  if (row.jobs == 0) return std::nullopt;
  row.makespan = RecordedSeconds(*first, *last);
  row.jct_mean = core::Mean(jct);
  row.queueing_mean = core::Mean(queueing);
  row.slowdown_mean = core::Mean(slowdown);
  row.jct_curve = CurveOf(jct);
  row.queueing_curve = CurveOf(queueing);
  row.slowdown_curve = CurveOf(slowdown);
  row.by_size = groups.BySize();
  row.by_user = groups.ByUser(history.scenario.users);
  const double gpu_seconds =
      *row.makespan * static_cast<double>(history.scenario.cluster.gpu_count());
  if (busy_known && gpu_seconds > 0) row.busy = std::min(1.0, busy / gpu_seconds);
  return row;
}

// Of the jobs that are over, from their submission to their end.
CompletionTimes ReallyTaken(const JobHistory& history) {
  CompletionTimes taken(history.job.size());
  for (std::size_t j = 0; j < taken.size(); ++j) {
    const JobRecord& job = *history.job[j];
    if (core::IsOver(job.phase) && job.ended) {
      taken[j] = RecordedSeconds(job.submitted, *job.ended);
    }
  }
  return taken;
}

std::vector<NamedChange> Named(const JobHistory& history, const std::vector<JobChange>& changes) {
  std::vector<NamedChange> named;
  for (const JobChange& change : changes) {
    const JobRecord& job = *history.job[change.job];
    named.push_back(
        {job.number, core::DisplayName(job.asked), job.user.name, change.before, change.after});
  }
  return named;
}

std::string SomeJobs(std::size_t count) {
  return fmt::format("{} job{}", count, count == 1 ? "" : "s");
}

void RemarkOnHistory(const JobHistory& history, std::size_t older, WhatIfResult& result) {
  const auto say = [&](std::size_t count, const std::string& words) {
    if (count > 0) result.remarks.push_back(words);
  };
  const std::size_t live = result.jobs - (result.really ? result.really->jobs : 0);
  const auto left_out = [&](std::size_t count, const char* words) {
    say(count, fmt::format("left out: {} {}", SomeJobs(count), words));
  };
  left_out(older, "older than those played");
  left_out(history.unknown, "of unknown length");
  left_out(history.never_ran, "that ended without having run");
  left_out(history.held, "on hold");
  say(live, fmt::format("not over yet: {}, played with the believed length; what really happened "
                        "is told of the others",
                        SomeJobs(live)));
  say(history.after, fmt::format("after others: {}, taken as submitted when those really ended",
                                 SomeJobs(history.after)));
  say(history.assumed, fmt::format("never measured: {}, taken to fill the GPU while it runs",
                                   SomeJobs(history.assumed)));
}

}  // namespace

WhatIfRow RowOf(const std::string& name, const Scenario& scenario, const Summary& summary,
                std::span<const sim::JobOutcome> outcomes) {
  WhatIfRow row{name,
                summary.jobs,
                summary.finished,
                summary.makespan,
                summary.jct.mean,
                summary.queueing.mean,
                summary.slowdown_mean,
                summary.busy,
                static_cast<std::size_t>(summary.moves),
                static_cast<std::size_t>(summary.ooms)};
  std::vector<double> jct, queueing, slowdown;
  for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
    const sim::JobOutcome& outcome = outcomes[j];
    const core::Seconds submit = scenario.jobs[j].submit;
    if (outcome.first_start) queueing.push_back((*outcome.first_start - submit).value);
    if (outcome.end != sim::JobOutcome::End::kFinished) continue;
    jct.push_back((outcome.finish - submit).value);
    const core::Seconds worked = outcome.run_time - outcome.restarting;
    if (outcome.undisturbed.value > 0) slowdown.push_back(worked / outcome.undisturbed);
  }
  row.jct_curve = CurveOf(std::move(jct));
  row.queueing_curve = CurveOf(std::move(queueing));
  row.slowdown_curve = CurveOf(std::move(slowdown));
  row.by_size = summary.by_size;
  row.by_user = summary.by_user;
  return row;
}

core::Result<WhatIfResult> WhatIf(JobRecords records, const core::Cluster& cluster,
                                  std::span<const core::SharedRun> shared,
                                  std::span<const std::string> policies,
                                  const WhatIfOptions& options) {
  if (policies.empty()) {
    return core::UsageError("no policy to play: name one or more, such as slot and sharewell");
  }
  const auto kept = Newest(records, options.most_jobs);
  const JobHistory history = HistoryOf(kept, cluster, shared, {Length::kWhole, options.now});
  if (history.job.empty()) {
    return core::UsageError(
        "there is nothing to play: of {} none has run, or is known to take how long; try again "
        "when some have ended",
        SomeJobs(records.size()));
  }
  WhatIfResult result;
  result.jobs = history.job.size();
  std::vector<CompletionTimes> columns;
  for (const std::string& name : policies) {
    auto played = Replay(history, name, columns.size(), options);
    RETURN_IF_ERROR(played);
    result.policies.push_back(std::move(played->row));
    columns.push_back(std::move(played->taken));
  }
  result.really = Really(history);
  for (std::size_t p = 1; p < columns.size(); ++p) {
    WhatIfChange& made = result.changes.emplace_back();
    made.change = ChangeOf(policies[p], columns.front(), columns[p]);
    made.gains = Named(history, made.change.gains);
    made.losses = Named(history, made.change.losses);
  }
  columns.push_back(ReallyTaken(history));
  result.users = UsersOf(history.scenario, columns);
  RemarkOnHistory(history, records.size() - kept.size(), result);
  return result;
}

}  // namespace sharewell::simulation
