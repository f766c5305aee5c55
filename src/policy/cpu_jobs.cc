#include "policy/cpu_jobs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace sharewell::policy {

using core::JobId;
using core::JobView;
using core::NodeId;
using core::Plan;
using core::Snapshot;

namespace reason = core::reason;

namespace {

constexpr core::Ratio kLeastShare = 0.1;  // slowed, never stopped altogether
constexpr int kMostTold = 64;             // of those who wait: thousands may, for the same

double CoresOf(const JobView& view) { return view.job.cores.value_or(1); }

// Bytes of host memory that it will hold, whichever node it comes to; 0 where none states its own.
double MemoryOf(const Snapshot& snapshot, const JobView& view) {
  core::Bytes most;
  if (!snapshot.cluster().states_memory()) return 0;
  for (const auto& node : snapshot.cluster().nodes()) {
    most = std::max(most, HostMemoryOn(node, view, 0));
  }
  return most.value;
}

// Host memory traffic of one node as believed: of training jobs, and of CPU-only jobs unthrottled.
struct Traffic {
  double training = 0;
  double cpu_only = 0;
  JobId who;  // a training job that feels it
  std::vector<JobId> cpu_jobs;
};

void SlowDown(const Snapshot& snapshot, Plan& plan) {
  const auto& cluster = snapshot.cluster();
  std::vector<Traffic> traffic(cluster.nodes().size());
  bool any = false;
  for (JobId id : snapshot.running()) {
    const JobView& view = snapshot.job(id);
    const bool stops = std::any_of(plan.stops.begin(), plan.stops.end(),
                                   [&](const core::Stop& stop) { return stop.job == id; });
    if (!view.cpu_only() || stops) continue;
    Traffic& here = traffic[view.allocation.node.index()];
    here.cpu_jobs.push_back(id);
    here.cpu_only += view.estimate.on.front().demand.host_bandwidth.value;
    any = true;
  }
  if (!any) return;
  const auto count = [&](JobId id, const core::Allocation& where) {
    for (core::GpuId gpu : where.gpus) {
      Traffic& here = traffic[cluster.NodeOf(gpu).index()];
      here.training +=
          snapshot.job(id).estimate.On(cluster.ModelOf(gpu)).demand.host_bandwidth.value;
      if (!here.who.valid() || id < here.who) here.who = id;
    }
  };
  for (JobId id : snapshot.running()) count(id, snapshot.job(id).allocation);
  for (const auto& start : plan.starts) count(start.job, start.to);
  for (std::size_t n = 0; n < traffic.size(); ++n) {
    Traffic& here = traffic[n];
    const auto& limit = cluster.nodes()[n].memory_bandwidth;
    if (here.cpu_jobs.empty() || !limit) continue;
    core::Ratio share = 1;
    if (here.who.valid() && here.cpu_only > 0) {
      share = std::clamp((limit->value - here.training) / here.cpu_only, kLeastShare, 1.0);
    }
    std::sort(here.cpu_jobs.begin(), here.cpu_jobs.end());
    for (JobId id : here.cpu_jobs) {
      if (std::abs(snapshot.job(id).throttle - share) < 0.01) continue;
      plan.throttles.push_back({id, share,
                                share < 1 ? core::Reason(reason::GivesWay{here.who, share})
                                          : core::Reason(reason::Resumes{here.who})});
    }
  }
}

// The first training job that this plan puts on the node.
JobId NewcomerOn(const Snapshot& snapshot, NodeId node, const Plan& plan) {
  const auto there = [&](const core::Allocation& to) {
    return std::any_of(to.gpus.begin(), to.gpus.end(),
                       [&](core::GpuId gpu) { return snapshot.cluster().NodeOf(gpu) == node; });
  };
  for (const auto& start : plan.starts) {
    if (there(start.to)) return start.job;
  }
  for (const auto& move : plan.moves) {
    if (there(move.to)) return move.job;
  }
  return {};
}

// Starts of this plan may have been given cores or host memory that CPU-only jobs hold: those stop,
// latest first, if what they hold is what lacks.
void MakeRoom(const Snapshot& snapshot, Ledger& ledger, Plan& plan) {
  for (std::size_t n = 0; n < snapshot.cluster().nodes().size(); ++n) {
    const NodeId node(n);
    const auto lacks_cores = [&] { return ledger.cores_free(snapshot, node) < -1e-9; };
    // What those who run were seen to need beyond belief is no start of this plan.
    const bool newcomer = NewcomerOn(snapshot, node, plan).valid();
    const auto lacks_memory = [&] {
      return newcomer && ledger.host_memory_free(snapshot, node) < core::Bytes(0);
    };
    if (!lacks_cores() && !lacks_memory()) continue;
    std::vector<JobId> here;
    for (JobId id : snapshot.running()) {
      const JobView& view = snapshot.job(id);
      if (view.cpu_only() && view.may_stop() && view.allocation.node == node) here.push_back(id);
    }
    std::sort(here.rbegin(), here.rend());
    for (JobId id : here) {
      const JobView& view = snapshot.job(id);
      const bool helps =
          (lacks_cores() && view.allocation.cores > 0) ||
          (lacks_memory() && HostMemoryOn(snapshot.cluster().node(node), view, 0) > core::Bytes(0));
      if (!helps) continue;
      ledger.Vacate(snapshot, id, snapshot.job(id).allocation);
      plan.stops.push_back({id, reason::Preempted{NewcomerOn(snapshot, node, plan)}});
    }
  }
}

// The first of each class of those that wait, in turn: by priority, the cores that its user holds,
// and submission. Cores held only grow, so it is enough to look at them when a turn comes.
class Heads {
 public:
  using CoresOf = std::function<double(core::UserId)>;

  Heads(const CpuLine& line, const Plan& plan, CoresOf cores_of)
      : infeasible_(plan.infeasible), cores_of_(std::move(cores_of)) {
    for (const auto& [what, members] : line.classes()) {
      cursors_.push_back({&what, members.begin(), members.end()});
      Queue(cursors_.size() - 1);
    }
  }

  // The next one in turn, or none: all who are left are in classes that were dropped.
  std::optional<JobId> Next() {
    while (!heads_.empty()) {
      const auto [priority, by_then, submit, id, i] = *heads_.begin();
      heads_.erase(heads_.begin());
      if (by_then != cores_of_(std::get<1>(*cursors_[i].what))) {  // its user was given some since
        Queue(i);
        continue;
      }
      current_ = i;
      return id;
    }
    return std::nullopt;
  }
  // The one that Next gave is dealt with, and who stands behind it comes in turn.
  void Advance() {
    ++cursors_[current_].at;
    Queue(current_);
  }

 private:
  struct Cursor {
    const CpuLine::Class* what;
    CpuLine::Members::const_iterator at, end;
  };
  void Queue(std::size_t i) {
    Cursor& c = cursors_[i];
    while (c.at != c.end &&
           std::binary_search(infeasible_.begin(), infeasible_.end(), c.at->second)) {
      ++c.at;
    }
    if (c.at == c.end) return;
    const auto& [priority, user, cores, memory] = *c.what;
    heads_.emplace(priority, cores_of_(user), c.at->first, c.at->second, i);
  }

  const std::vector<JobId>& infeasible_;
  const CoresOf cores_of_;
  std::vector<Cursor> cursors_;
  std::set<std::tuple<int, double, double, JobId, std::size_t>> heads_;
  std::size_t current_ = 0;
};

}  // namespace

void CpuLine::Rebuild(const Snapshot& snapshot) {
  classes_.clear();
  where_.clear();
  for (JobId id : snapshot.waiting()) Update(snapshot, id);
}

void CpuLine::Update(const Snapshot& snapshot, JobId id) {
  const JobView& view = snapshot.job(id);
  if (!view.cpu_only()) return;
  if (id.index() >= where_.size()) where_.resize(snapshot.job_count());
  auto& where = where_[id.index()];
  const std::pair place(view.job.submit.value, id);
  if (where) {
    const auto found = classes_.find(*where);
    found->second.erase(place);
    if (found->second.empty()) classes_.erase(found);
    where.reset();
  }
  if (view.state != core::JobState::kWaiting) return;
  where.emplace(-view.job.priority, view.job.user, CoresOf(view), MemoryOf(snapshot, view));
  classes_[*where].insert(place);
}

std::size_t PlaceCpuJobs(const Snapshot& snapshot, const CpuLine& line, Ledger& ledger,
                         bool give_way, bool by_user, Plan& plan,
                         const std::function<void(JobId, const core::Reason&)>& tell) {
  if (snapshot.cpu_only_jobs() == 0) return 0;
  if (give_way) {
    MakeRoom(snapshot, ledger, plan);
    SlowDown(snapshot, plan);
  }
  std::map<core::UserId, double> held;  // cores of CPU-only jobs; stays empty if not by user
  for (JobId id : snapshot.running()) {
    const JobView& view = snapshot.job(id);
    if (by_user && view.cpu_only()) held[view.job.user] += view.allocation.cores;
  }
  Heads heads(line, plan, [&](core::UserId user) {
    const auto found = held.find(user);
    return found == held.end() ? 0 : found->second;
  });
  int told = 0;
  std::size_t looked_at = 0;
  while (const auto next = heads.Next()) {
    const JobId id = *next;
    ++looked_at;
    const JobView& view = snapshot.job(id);
    const double cores = CoresOf(view);
    NodeId best, most;
    NodeId most_memory;  // of those that have the cores
    for (std::size_t n = 0; n < snapshot.cluster().nodes().size(); ++n) {
      const double free = ledger.cores_free(snapshot, NodeId(n));
      if (!most.valid() || free > ledger.cores_free(snapshot, most)) most = NodeId(n);
      if (free + 1e-9 < cores) continue;
      const core::Bytes memory = ledger.host_memory_free(snapshot, NodeId(n));
      const core::Bytes wanted = HostMemoryOn(snapshot.cluster().node(NodeId(n)), view, 0);
      if (wanted > core::Bytes(0) && wanted > memory) {
        if (!most_memory.valid() || memory > ledger.host_memory_free(snapshot, most_memory)) {
          most_memory = NodeId(n);
        }
        continue;
      }
      if (!best.valid() || free > ledger.cores_free(snapshot, best)) best = NodeId(n);
    }
    if (!best.valid()) {
      if (told++ >= kMostTold) continue;  // its class is dropped: all of it asks for as much
      if (most_memory.valid()) {
        const core::Bytes wanted = HostMemoryOn(snapshot.cluster().node(most_memory), view, 0);
        const core::Bytes free =
            std::max(core::Bytes(0), ledger.host_memory_free(snapshot, most_memory));
        tell(id, reason::NoHostMemory{wanted, free, most_memory});
        heads.Advance();
        continue;
      }
      const double free = most.valid() ? std::max(0.0, ledger.cores_free(snapshot, most)) : 0;
      tell(id, reason::NoCores{cores, free, most});
      heads.Advance();
      continue;
    }
    core::Start start{id, {{}, best, cores}, {}, reason::FillsCores{}};
    ledger.Occupy(snapshot, id, start.to);
    if (by_user) held[snapshot.job(id).job.user] += cores;
    plan.starts.push_back(std::move(start));
    heads.Advance();
  }
  return looked_at;
}

}  // namespace sharewell::policy
