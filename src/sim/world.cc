#include "sim/world.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "core/result.h"
#include "sim/pause_cost.h"

namespace sharewell::sim {
namespace {

// Of a job without a GPU. A cluster of CPUs alone has no GPU model to tell it of.
const core::Demand& HostDemandOf(const TrueJob& truth) {
  static const core::Demand kNothing;
  return truth.on.empty() ? kNothing : truth.on[0].demand;
}

using core::Allocation;
using core::GpuId;
using core::JobId;
using core::NodeId;
using core::Ratio;
using core::Seconds;

// A job that does not fit dies when it allocates, which is soon but not at once.
constexpr Seconds kOomAfter{10};

// Two steps, and the reading of what they tell.
constexpr Seconds kToldAfter{3};

}  // namespace

void Events::Clear() {
  submitted.clear();
  finished.clear();
  failed.clear();
  out_of_memory.clear();
  profiled.clear();
  told.clear();
  progress.clear();
}

bool World::Event::operator>(const Event& o) const {
  if (time != o.time) return time > o.time;
  if (kind != o.kind) return kind > o.kind;
  return job > o.job;
}

World::World(const core::Cluster& cluster, const std::vector<core::Job>& jobs,
             const std::vector<TrueJob>& truth, const interference::Interference& interference,
             WorldOptions options)
    : cluster_(&cluster),
      jobs_(&jobs),
      truth_(&truth),
      interference_(&interference),
      options_(std::move(options)),
      states_(jobs.size()),
      gpus_(cluster.gpu_count()),
      nodes_(cluster.nodes().size()),
      outcomes_(jobs.size()) {
  SHAREWELL_CHECK(jobs.size() == truth.size());
  for (std::size_t g = 0; g < gpus_.size(); ++g) {
    const auto& model = cluster.model(cluster.ModelOf(GpuId(g)));
    if (model.idle_power) {
      gpus_[g].watts = model.idle_power->value;
      watts_now_ += gpus_[g].watts;
    } else {
      totals_.power_known = false;
    }
  }
}

const core::Demand& World::DemandOn(JobId id, GpuId gpu) const {
  return (*truth_)[id.index()].on[cluster_->ModelOf(gpu).index()].demand;
}

void World::Push(JobId id, Seconds at, EventKind kind) {
  const State& state = states_[id.index()];
  heap_.push_back({at.value, kind, id.value, kind == EventKind::kFinish ? state.pace : state.run});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void World::Pop() {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  heap_.pop_back();
}

bool World::Stale(const Event& event) const {
  const State& state = states_[event.job];
  return event.version != (event.kind == EventKind::kFinish ? state.pace : state.run);
}

std::optional<Seconds> World::NextEvent() {
  while (!heap_.empty() && Stale(heap_.front())) Pop();
  std::optional<Seconds> next;
  if (!heap_.empty()) next = Seconds(heap_.front().time);
  if (next_submission_ < jobs_->size()) {
    const Seconds submit = (*jobs_)[next_submission_].submit;
    next = next ? std::min(*next, submit) : submit;
  }
  return next ? std::optional(std::max(*next, now_)) : next;
}

void World::Accumulate(Seconds t) {
  const double dt = (t - now_).value;
  totals_.busy += busy_now_ * dt;
  totals_.sm += sm_now_ * dt;
  totals_.joules += watts_now_ * dt;
  totals_.allocated += allocated_now_ * dt;
  totals_.cores_reserved += cores_reserved_now_ * dt;
  totals_.cores_used += cores_used_now_ * dt;
  now_ = t;
}

void World::AdvanceTo(Seconds t, Events& out) {
  Accumulate(t);
  // However long it has taken so far, it is not to be laid to its neighbours.
  for (const JobId id : starting_) MarkJob(id);
  std::erase_if(starting_, [this](JobId id) { return !StartsUp(id); });
  while (next_submission_ < jobs_->size() && (*jobs_)[next_submission_].submit <= t) {
    out.submitted.push_back(JobId(next_submission_++));
  }
  while (!heap_.empty() && heap_.front().time <= t.value) {
    const Event event = heap_.front();
    Pop();
    if (Stale(event)) continue;
    const JobId id(event.job);
    State& state = states_[event.job];
    switch (event.kind) {
      case EventKind::kFinish:
        Finish(id, JobOutcome::End::kFinished);
        out.finished.push_back(id);
        break;
      case EventKind::kOom: {
        ++outcomes_[event.job].ooms;
        if (state.hopeless) {
          Finish(id, JobOutcome::End::kFailed);
          out.failed.push_back(id);
        } else {
          Place(id, state.where, -1);
          out.out_of_memory.push_back(id);
        }
        break;
      }
      case EventKind::kProfiled:
        out.profiled.push_back(id);
        break;
      case EventKind::kTold:
        state.told = true;
        out.told.push_back(id);
        break;
      case EventKind::kLoaded:
        AskHosts(id, true);
        for (GpuId gpu : state.where.gpus) MarkGpu(gpu);
        MarkJob(id);
        break;
      case EventKind::kResume:
        MarkJob(id);
        break;
    }
  }
  Settle(out);
}

Course World::CourseOf(JobId id) const {
  const State& state = states_[id.index()];
  Course course{state.attained, state.rate, state.resume_at, std::nullopt};
  const Seconds from = std::max(state.settled, std::min(state.resume_at, now_));
  if (!state.dying) course.attained += (now_ - from) * state.rate;
  if (state.where.gpus.size() == 1) course.sm = gpus_[state.where.gpus.front().index()].sm;
  return course;
}

void World::SettleProgress(JobId id) {
  State& state = states_[id.index()];
  JobOutcome& outcome = outcomes_[id.index()];
  const Seconds from = std::max(state.settled, std::min(state.resume_at, now_));
  const Seconds ran = now_ - state.settled;
  const Seconds worked = now_ - from;
  outcome.run_time += ran;
  state.startup += std::max(std::min(state.loaded_at, now_) - state.settled, Seconds(0));
  if (state.dying) {
    outcome.restarting += ran;
  } else {
    outcome.restarting += ran - worked;
    state.attained += worked * state.rate;
    if (state.undisturbed_rate > 0) {
      outcome.undisturbed += worked * (state.rate / state.undisturbed_rate);
    }
  }
  state.settled = now_;
}

void World::MarkGpu(GpuId gpu) {
  GpuState& g = gpus_[gpu.index()];
  if (g.dirty) return;
  g.dirty = true;
  dirty_gpus_.push_back(gpu);
}

void World::MarkJob(JobId id) {
  State& state = states_[id.index()];
  if (state.dirty || !state.running) return;
  state.dirty = true;
  dirty_jobs_.push_back(id);
}

void World::MarkNode(NodeId node) {
  NodeState& n = nodes_[node.index()];
  if (n.dirty) return;
  n.dirty = true;
  dirty_nodes_.push_back(node);
}

void World::AskHosts(JobId id, bool asks) {
  State& state = states_[id.index()];
  if (state.asks == asks) return;
  state.asks = asks;
  const double sign = asks ? 1 : -1;
  const auto ask = [&](NodeId n, const core::Demand& d, Ratio share) {
    NodeState& node = nodes_[n.index()];
    const auto& facts = cluster_->node(n);
    const auto over = [&] {
      return (facts.memory_bandwidth && node.host_bandwidth > facts.memory_bandwidth->value) ||
             (facts.pcie && node.pcie > facts.pcie->value);
    };
    const bool before = over();
    const double bandwidth = d.host_bandwidth.value * share;
    node.host_bandwidth = std::max(0.0, node.host_bandwidth + sign * bandwidth);
    node.pcie = std::max(0.0, node.pcie + sign * d.pcie.value);
    if (before || over()) MarkNode(n);
  };
  for (GpuId gpu : state.where.gpus) ask(cluster_->NodeOf(gpu), DemandOn(id, gpu), 1);
  if (state.where.gpus.empty()) {
    ask(state.where.node, HostDemandOf((*truth_)[id.index()]), state.throttle);
  }
}

// Puts a job on its GPUs or takes it off, and marks whoever may feel it.
void World::Place(JobId id, const Allocation& where, int sign) {
  State& state = states_[id.index()];
  if (sign < 0) {
    SettleProgress(id);
    AskHosts(id, false);
  }
  cores_reserved_now_ = std::max(0.0, cores_reserved_now_ + sign * where.cores);
  for (GpuId gpu : where.gpus) {
    GpuState& g = gpus_[gpu.index()];
    if (sign > 0) {
      if (g.residents.count() == 0) ++allocated_now_;
      g.residents.Add(id);
    } else {
      g.residents.Remove(id);
      if (g.residents.count() == 0) --allocated_now_;
    }
    MarkGpu(gpu);
  }
  if (where.gpus.empty()) {
    auto& cpu_jobs = nodes_[where.node.index()].cpu_jobs;
    if (sign > 0) {
      cpu_jobs.push_back(id);
    } else {
      cpu_jobs.erase(std::find(cpu_jobs.begin(), cpu_jobs.end(), id));
    }
  }
  if (sign > 0) {
    state.where = where;
    state.running = true;
    state.settled = now_;
    state.rate = 0;
    MarkJob(id);
  } else {
    cores_used_now_ = std::max(0.0, cores_used_now_ - state.cores_used);
    state.cores_used = 0;
    state.throttle = 1;
    state.running = false;
    ++state.run;
    ++state.pace;
  }
}

bool World::RunsOutOfMemory(JobId id, bool alone) const {
  const State& state = states_[id.index()];
  std::array<interference::Resident, core::kMaxJobsOnGpu> residents;
  for (GpuId gpu : state.where.gpus) {
    const auto model = cluster_->ModelOf(gpu);
    if ((*truth_)[id.index()].on[model.index()].rate <= 0) return true;
    core::Bytes used;
    std::size_t n = 0;
    for (JobId other : gpus_[gpu.index()].residents.jobs()) {
      if (alone && other != id) continue;
      const core::Demand& d = DemandOn(other, gpu);
      const auto& guest = states_[other.index()].where.guest_memory;
      const bool capped = guest && !alone;
      if (capped && other == id && d.gpu_memory > *guest) return true;
      used += capped ? std::min(d.gpu_memory, *guest) : d.gpu_memory;
      residents[n++] = {(*jobs_)[other.index()].workload, &d, 1};
    }
    if (used > cluster_->model(model).memory) return true;
    if (!interference_->Fits(model, std::span(residents).first(n))) return true;
  }
  return false;
}

void World::Start(JobId id, const Allocation& to, std::optional<Seconds> profile) {
  State& state = states_[id.index()];
  JobOutcome& outcome = outcomes_[id.index()];
  Place(id, to, +1);
  state.started = now_;
  const bool goes_on = std::exchange(state.paused, false);
  state.loaded_at = now_ + (goes_on ? Seconds(0) : (*truth_)[id.index()].startup);
  state.resume_at = state.loaded_at;
  if (goes_on) {
    core::Bytes moved;
    for (const GpuId gpu : to.gpus) moved += DemandOn(id, gpu).gpu_memory;
    state.resume_at += PauseCost(moved);
  } else if (outcome.first_start) {
    state.resume_at += (*jobs_)[id.index()].restart_cost.value_or(options_.restart_cost);
  } else {
    outcome.first_start = now_;
  }
  if (std::exchange(state.evicted, false)) outcome.evicted += state.resume_at - now_;
  if (!to.gpus.empty()) outcome.last_model = cluster_->ModelOf(to.gpus.front());
  state.dying = RunsOutOfMemory(id, false);
  state.hopeless = state.dying && RunsOutOfMemory(id, true);
  if (state.dying) Push(id, now_ + kOomAfter, EventKind::kOom);
  if (profile) Push(id, now_ + *profile, EventKind::kProfiled);
  if (options_.tells && !state.told && !state.dying && options_.tells(id)) {
    Push(id, state.resume_at + kToldAfter, EventKind::kTold);
  }
  if (state.loaded_at > now_) {
    Push(id, state.loaded_at, EventKind::kLoaded);
    starting_.push_back(id);
  } else {
    AskHosts(id, true);
  }
  if (state.resume_at > state.loaded_at) Push(id, state.resume_at, EventKind::kResume);
}

void World::Stop(JobId id, bool evicted) {
  Place(id, states_[id.index()].where, -1);
  JobOutcome& outcome = outcomes_[id.index()];
  ++(evicted ? outcome.evictions : outcome.moves);
  states_[id.index()].evicted = evicted;
}

void World::Pause(JobId id) {
  Stop(id);
  states_[id.index()].paused = true;
}

void World::Arrive(JobId id, const Allocation& to, bool free) {
  Start(id, to, std::nullopt);
  State& state = states_[id.index()];
  if (!free) return;
  state.loaded_at = state.resume_at = now_;
  AskHosts(id, true);
}

void World::Resize(JobId id, double cores) {
  State& state = states_[id.index()];
  SettleProgress(id);
  cores_reserved_now_ += cores - state.where.cores;
  state.where.cores = cores;
  MarkJob(id);
}

void World::Throttle(JobId id, Ratio share) {
  State& state = states_[id.index()];
  SettleProgress(id);
  const NodeId n = state.where.node;
  const double demand = HostDemandOf((*truth_)[id.index()]).host_bandwidth.value;
  if (state.asks) nodes_[n.index()].host_bandwidth += demand * (share - state.throttle);
  state.throttle = share;
  MarkJob(id);
  MarkNode(n);
}

void World::Drop(JobId id) {
  outcomes_[id.index()].end = JobOutcome::End::kInfeasible;
  outcomes_[id.index()].finish = now_;
}

void World::Close() {
  for (std::size_t j = 0; j < states_.size(); ++j) {
    if (states_[j].running) SettleProgress(JobId(j));
  }
}

void World::Finish(JobId id, JobOutcome::End end) {
  Place(id, states_[id.index()].where, -1);
  outcomes_[id.index()].end = end;
  outcomes_[id.index()].finish = now_;
}

}  // namespace sharewell::sim
