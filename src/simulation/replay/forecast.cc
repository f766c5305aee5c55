#include "simulation/replay/forecast.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/result.h"
#include "policy/registry.h"
#include "simulation/starts/tell_starts.h"

namespace sharewell::simulation {
namespace {

using core::JobId;
using core::JobRecord;
using core::Phase;
using core::Seconds;

// How well durations are known: a run's own is log-normal about what was believed of it.
constexpr double kDurationError = 0.3;

// The queue's front: by priority, then by age.
std::vector<const JobRecord*> FrontOf(std::vector<const JobRecord*> waiting, std::size_t most) {
  std::sort(waiting.begin(), waiting.end(), [](const JobRecord* a, const JobRecord* b) {
    return std::tuple(-a->asked.priority, a->submitted, a->number) <
           std::tuple(-b->asked.priority, b->submitted, b->number);
  });
  if (waiting.size() > most) waiting.resize(most);
  return waiting;
}

class QueuePlayer {
 public:
  QueuePlayer(JobHistory history, std::span<const core::GivenGpu> gpus, core::UnixMillis now)
      : history_(std::move(history)),
        gpus_(gpus),
        wall_(now),
        now_(std::max(0.0, static_cast<double>(now - history_.begin) / 1e3)),
        residents_(history_.scenario.cluster.gpu_count(), 0) {}

  // Something that never ends, on a GPU that may not be used.
  void Close(std::span<const core::GpuId> closed) {
    Scenario& scenario = history_.scenario;
    for (const core::GpuId gpu : closed) {
      if (gpu.index() >= residents_.size()) continue;
      core::Job job;
      job.id = JobId(scenario.jobs.size());
      job.name = "a closed GPU";
      job.exclusive = true;
      job.placeholder = true;
      job.submit = now_;
      core::Estimate estimate;
      estimate.on.resize(scenario.cluster.models().size());
      scenario.truth.push_back({kNoEnd, estimate.on, {}});
      history_.believed.push_back(estimate);
      history_.done.emplace_back(0);
      history_.rest.push_back(kNoEnd);
      history_.job.push_back(nullptr);
      scenario.jobs.push_back(std::move(job));
      Seat(scenario.jobs.back().id, core::Allocation{{gpu}, {}, 0});
    }
  }

  void CountTo(const core::Projects& projects) {
    for (std::size_t j = 0; j < history_.job.size(); ++j) {
      const JobRecord* record = history_.job[j];
      if (record == nullptr) continue;
      // Of one that is only considered nobody says whose it is.
      const auto named = core::ProjectNamed(projects, record->asked.project);
      history_.scenario.jobs[j].project =
          record->user.name.empty() && named
              ? *named
              : core::ProjectOf(projects, record->user.name, record->asked.project);
    }
  }

  // Puts those that run where they are. The number of those of which that cannot be told.
  std::size_t SeatRunning() {
    std::size_t lost = 0;
    for (std::size_t j = 0; j < history_.job.size(); ++j) {
      const JobRecord* record = history_.job[j];
      if (record == nullptr || record->phase == Phase::kWaiting) continue;
      if (!Seat(JobId(j), WhereIs(*record))) ++lost;
    }
    return lost;
  }

  // Policies decide by what the server's own is told of each job, whatever is known besides of how
  // long it takes (a time limit).
  core::Result<void> Play(const policy::Policy& policy, const ForecastOptions& options) {
    const Scenario& scenario = history_.scenario;
    core::Snapshot snapshot(scenario.cluster);
    Remember(snapshot, options.usage);
    auto played = TellStarts(snapshot, policy, scenario.interference, history_.rest,
                             {.most_waiting = scenario.jobs.size(),
                              .duration_error = kDurationError,
                              .go_on = options.go_on});
    RETURN_IF_ERROR(played);
    played_ = *std::move(played);
    return {};
  }

  ExpectedStart Told(JobId id) const {
    const Played& played = played_[id.index()];
    ExpectedStart told;
    told.number = history_.job[id.index()]->number;
    if (played.start) {
      told.start = wall_ + static_cast<core::UnixMillis>(((*played.start - now_) * 1e3).value);
    }
    for (const core::GpuId gpu : played.where.gpus) {
      if (gpu.index() < gpus_.size()) told.gpus.push_back(gpus_[gpu.index()]);
    }
    if (played.reason) {
      const JobId other = core::OtherJob(*played.reason);
      const auto& jobs = history_.scenario.jobs;
      told.why =
          core::InWords(*played.reason, !other.valid()                ? std::string()
                                        : other.index() < jobs.size() ? jobs[other.index()].name
                                                                      : "a job to come");
    }
    return told;
  }

  const JobHistory& history() const { return history_; }

 private:
  std::optional<core::Allocation> WhereIs(const JobRecord& record) const {
    core::Allocation where;
    where.cores = record.cores;
    where.sm_share = record.sm_share;
    if (record.asked.gpus == 0) {
      if (history_.scenario.cluster.nodes().empty()) return std::nullopt;
      where.node = core::NodeId(0);
      return where;
    }
    for (const core::GivenGpu& given : record.gpus) {
      for (std::size_t g = 0; g < std::min(gpus_.size(), residents_.size()); ++g) {
        if (gpus_[g].uuid == given.uuid) where.gpus.emplace_back(g);
      }
    }
    std::sort(where.gpus.begin(), where.gpus.end());
    where.gpus.erase(std::unique(where.gpus.begin(), where.gpus.end()), where.gpus.end());
    if (where.gpus.empty()) return std::nullopt;
    return where;
  }

  // False where it is not known, or where there is no room for one more.
  bool Seat(JobId id, const std::optional<core::Allocation>& where) {
    const bool fits =
        where && std::all_of(where->gpus.begin(), where->gpus.end(), [&](core::GpuId gpu) {
          return residents_[gpu.index()] < core::kMaxJobsOnGpu;
        });
    if (!fits) return false;
    for (const core::GpuId gpu : where->gpus) ++residents_[gpu.index()];
    seats_.emplace_back(id, *where);
    return true;
  }

  // All that has happened so far, in the order it did: who came when tells policies what to expect.
  void Remember(core::Snapshot& snapshot, const std::map<std::string, double>& usage) const {
    const auto& jobs = history_.scenario.jobs;
    for (const core::Job& job : jobs) {
      snapshot.AdvanceTo(std::max(snapshot.now(), job.submit));
      snapshot.Submit(job, history_.believed[job.id.index()]);
    }
    snapshot.AdvanceTo(std::max(snapshot.now(), now_));
    for (const auto& [job, where] : seats_) {
      snapshot.Start(job, where);
      const Seconds done = history_.done[job.index()];
      snapshot.Observe(job, done, 0, Seconds(0));
      const core::UserId user = jobs[job.index()].user;
      if (user.valid() && !usage.contains(history_.scenario.users[user.index()])) {
        snapshot.AddUsage(user, done.value * jobs[job.index()].gpus);
      }
    }
    const auto& users = history_.scenario.users;
    for (std::size_t u = 0; u < users.size(); ++u) {
      const auto used = usage.find(users[u]);
      if (used != usage.end()) snapshot.AddUsage(core::UserId(u), used->second);
    }
  }

  JobHistory history_;
  std::span<const core::GivenGpu> gpus_;
  core::UnixMillis wall_;
  Seconds now_;  // the same in the scenario's time
  std::vector<int> residents_;
  std::vector<std::pair<JobId, core::Allocation>> seats_;
  std::vector<Played> played_;  // by job
};

// A job that could not start whatever is free.
void KeepIfHeld(const JobRecord& considered, const std::set<std::int64_t>& live,
                ExpectedStart& expected) {
  const auto& after = considered.asked.after;
  const bool later = std::any_of(after.begin(), after.end(),
                                 [&](std::int64_t number) { return live.contains(number); });
  if (!considered.asked.held && !later) return;
  expected.start.reset();
  expected.gpus.clear();
  expected.why = considered.asked.held ? "it waits until it is released"
                                       : "it waits until the jobs it comes after have finished";
}

void RemarkOnQueue(const JobHistory& history, std::size_t behind, std::size_t lost,
                   ForecastResult& result) {
  const auto say = [&](const char* what, std::size_t count, const char* then) {
    if (count == 0) return;
    result.remarks.push_back(
        fmt::format("{}: {} job{}, {}", what, count, count == 1 ? "" : "s", then));
  };
  say("of unknown length", history.unknown,
      "taken never to end: what has to wait for that has no time, all others are late at worst");
  say("of unknown length", history.by_limit, "taken to use all of the time limit");
  say("further back in the queue", behind, "not played, so without a time");
  say("at a place that cannot be told", lost, "taken to wait");
}

}  // namespace

core::Result<ForecastResult> Forecast(JobRecords live, const core::Cluster& cluster,
                                      std::span<const core::GivenGpu> gpus,
                                      std::span<const core::GpuId> closed,
                                      std::span<const core::SharedRun> shared,
                                      const JobRecord* considered, const ForecastOptions& options) {
  std::vector<const JobRecord*> played, waiting;
  std::set<std::int64_t> numbers;
  for (const JobRecord* record : live) {
    numbers.insert(record->number);
    if (record->phase == Phase::kWaiting) {
      waiting.push_back(record);
    } else if (record->phase != Phase::kHeld && !core::IsOver(record->phase)) {
      played.push_back(record);
    }
  }
  const auto front = FrontOf(waiting, options.most_jobs);
  played.insert(played.end(), front.begin(), front.end());
  std::optional<JobRecord> last;
  if (considered != nullptr) {
    last = *considered;
    last->number = std::numeric_limits<std::int64_t>::max();
    last->phase = Phase::kWaiting;
    last->submitted = options.now;
    played.push_back(&*last);
  }

  QueuePlayer player(HistoryOf(played, cluster, shared, {Length::kRest, options.now}), gpus,
                     options.now);
  policy::Options policy_options;
  policy_options.max_slowdown = options.max_slowdown;
  policy_options.match_patience = options.match_patience;
  policy_options.project_shares = core::SharesOf(options.projects);
  policy_options.projects_reclaim = core::Reclaim(options.projects);
  player.CountTo(options.projects);
  policy_options.interference = &player.history().scenario.interference;
  const auto policy = policy::NewPolicy(options.policy, policy_options);
  RETURN_IF_ERROR(policy);
  player.Close(closed);
  const std::size_t lost = player.SeatRunning();
  auto played_on = player.Play(**policy, options);
  RETURN_IF_ERROR(played_on);

  ForecastResult result;
  std::map<std::int64_t, ExpectedStart> told;
  for (const JobRecord* record : waiting) told[record->number].number = record->number;
  const auto& jobs = player.history().job;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j] == nullptr || jobs[j]->phase != Phase::kWaiting) continue;
    if (last && jobs[j] == &*last) {
      result.considered = player.Told(JobId(j));
      result.considered->number = considered->number;
    } else {
      told[jobs[j]->number] = player.Told(JobId(j));
    }
  }
  for (auto& [number, start] : told) result.jobs.push_back(std::move(start));
  if (considered != nullptr) KeepIfHeld(*considered, numbers, *result.considered);
  RemarkOnQueue(player.history(), waiting.size() - front.size(), lost, result);
  return result;
}

}  // namespace sharewell::simulation
