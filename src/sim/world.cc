#include "sim/world.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "core/numbers/random.h"
#include "core/result.h"

namespace sharewell::sim {
namespace {

using core::Allocation;
using core::GpuId;
using core::JobId;
using core::NodeId;
using core::Ratio;
using core::Seconds;

// A job that does not fit dies when it allocates, which is soon but not at once.
constexpr Seconds kOomAfter{10};

// CODA: gangs over nodes lose 25-30 % on 10 Gb/s; their all-reduce time shrinks with bandwidth.
constexpr double kAllReduceShare = 0.379;  // of a step, at 10 Gb/s: 1 / 1.379 = 0.725
constexpr core::BytesPerSecond kAllReduceAt{1.25e9};

// CODA again: waiting for the network, no gang over nodes could use more than two cores a node.
constexpr double kCoresANodeInGangs = 2;

bool Near(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

void Events::Clear() {
  submitted.clear();
  finished.clear();
  failed.clear();
  out_of_memory.clear();
  profiled.clear();
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
      options_(options),
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
    ask(state.where.node, (*truth_)[id.index()].on[0].demand, state.throttle);
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
      used += d.gpu_memory;
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
  state.loaded_at = now_ + (*truth_)[id.index()].startup;
  state.resume_at = state.loaded_at;
  if (outcome.first_start) {
    state.resume_at += (*jobs_)[id.index()].restart_cost.value_or(options_.restart_cost);
  } else {
    outcome.first_start = now_;
  }
  if (!to.gpus.empty()) outcome.last_model = cluster_->ModelOf(to.gpus.front());
  state.dying = RunsOutOfMemory(id, false);
  state.hopeless = state.dying && RunsOutOfMemory(id, true);
  if (state.dying) Push(id, now_ + kOomAfter, EventKind::kOom);
  if (profile) Push(id, now_ + *profile, EventKind::kProfiled);
  if (state.loaded_at > now_) {
    Push(id, state.loaded_at, EventKind::kLoaded);
    starting_.push_back(id);
  } else {
    AskHosts(id, true);
  }
  if (state.resume_at > state.loaded_at) Push(id, state.resume_at, EventKind::kResume);
}

void World::Stop(JobId id) {
  Place(id, states_[id.index()].where, -1);
  ++outcomes_[id.index()].moves;
}

void World::Leave(JobId id) { Stop(id); }

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
  const double demand = (*truth_)[id.index()].on[0].demand.host_bandwidth.value;
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

Ratio World::TrueSpeed(core::GpuModelId model, std::span<const interference::Resident> residents,
                       std::size_t i) const {
  const Ratio speed = interference_->Speed(model, residents, i);
  if (residents.size() <= 1 || interference_->Measured(model, residents)) return speed;
  // The same co-location always errs the same way: the draw is by the workloads, not by the jobs.
  std::array<std::uint32_t, core::kMaxJobsOnGpu> group{};
  for (std::size_t k = 0; k < residents.size(); ++k) group[k] = residents[k].workload.value;
  std::sort(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(residents.size()));
  std::uint64_t hash = core::HashOf({options_.seed, model.value, residents[i].workload.value});
  for (std::size_t k = 0; k < residents.size(); ++k) hash = core::HashOf({hash, group[k]});
  const auto& errs = interference_->coefficients();
  const double sigma = residents.size() == 2 ? errs.residual : errs.residual_of_three;
  const double residual = std::exp(sigma * core::Normal(hash));
  return std::clamp(speed * residual, interference::kSlowest, 1.0);
}

void World::NeighbourSpeeds(GpuId gpu) {
  GpuState& g = gpus_[gpu.index()];
  const auto model = cluster_->ModelOf(gpu);
  std::array<interference::Resident, core::kMaxJobsOnGpu> residents;
  std::size_t n = 0;
  for (JobId id : g.residents.jobs()) {
    if (StartsUp(id)) continue;
    residents[n++] = {(*jobs_)[id.index()].workload, &DemandOn(id, gpu), 1};
  }
  std::size_t at = 0;  // in residents
  for (std::size_t i = 0; i < g.residents.jobs().size(); ++i) {
    const JobId id = g.residents.jobs()[i];
    const Ratio speed = StartsUp(id) ? 1 : TrueSpeed(model, std::span(residents).first(n), at++);
    g.speed[i] = static_cast<float>(speed);
    MarkJob(id);
  }
}

Ratio World::HostSpeed(JobId id) const {
  const State& state = states_[id.index()];
  const auto leaves = [&](NodeId n) {
    const auto& facts = cluster_->node(n);
    const NodeState& node = nodes_[n.index()];
    double left = 1;
    if (facts.memory_bandwidth && node.host_bandwidth > facts.memory_bandwidth->value) {
      left = facts.memory_bandwidth->value / node.host_bandwidth;
    }
    if (facts.pcie && node.pcie > facts.pcie->value) {
      left = std::min(left, facts.pcie->value / node.pcie);
    }
    return left;
  };
  if (state.where.gpus.empty()) return leaves(state.where.node);
  double speed = 1;
  NodeId last;
  for (GpuId gpu : state.where.gpus) {
    const NodeId n = cluster_->NodeOf(gpu);
    if (n == last) continue;
    last = n;
    const double left = leaves(n);
    if (left >= 1) continue;
    const double busy = DemandOn(id, gpu).busy;
    speed = std::min(speed, 1 / (busy + (1 - busy) / left));
  }
  return speed;
}

void World::UpdateRate(JobId id, Events& out) {
  State& state = states_[id.index()];
  const core::Job& job = (*jobs_)[id.index()];
  const TrueJob& truth = (*truth_)[id.index()];
  SettleProgress(id);
  Ratio alone = 1;
  Ratio beside = 1;
  Ratio rest = state.throttle;
  if (job.gpus == 0) {
    if (job.cores && *job.cores > 0) rest *= std::min(1.0, state.where.cores / *job.cores);
  } else {
    alone = std::numeric_limits<double>::infinity();
    const auto& gpus = state.where.gpus;
    bool cores_stated = true;
    int nodes = 0;
    NodeId last;
    double slowest_network = std::numeric_limits<double>::infinity();
    for (GpuId gpu : gpus) {
      alone = std::min(alone, truth.on[cluster_->ModelOf(gpu).index()].rate);
      const GpuState& g = gpus_[gpu.index()];
      const auto residents = g.residents.jobs();
      for (std::size_t k = 0; residents.size() > 1 && k < residents.size(); ++k) {
        if (residents[k] == id) beside = std::min(beside, static_cast<double>(g.speed[k]));
      }
      const NodeId here = cluster_->NodeOf(gpu);
      nodes += here != last ? 1 : 0;
      last = here;
      const auto& node = cluster_->node(here);
      cores_stated = cores_stated && node.cores.has_value();
      if (node.network) slowest_network = std::min(slowest_network, node.network->value);
    }
    const double cores_a_gpu = state.where.cores / static_cast<double>(gpus.size());
    if (cores_stated && nodes > 1) {
      const double wanted = std::min(DemandOn(id, gpus.front()).cpu_cores,
                                     kCoresANodeInGangs * nodes / static_cast<double>(gpus.size()));
      rest *= core::Throughput({}, wanted, cores_a_gpu);
    } else if (cores_stated) {
      rest *= core::Throughput(truth.cpu_curve, DemandOn(id, gpus.front()).cpu_cores, cores_a_gpu);
    }
    if (nodes > 1 && std::isfinite(slowest_network)) {
      rest *= 1 / (1 + kAllReduceShare * kAllReduceAt.value / slowest_network);
    }
  }
  const Ratio disturbed = beside * HostSpeed(id);
  const bool stalled = state.dying || state.resume_at > now_;
  const Ratio rate = state.dying ? 0 : alone * disturbed * rest;
  state.undisturbed_rate = alone * rest;
  state.speed = stalled ? 0 : disturbed * rest;
  if (!Near(rate, state.rate) || state.rate == 0) {
    state.rate = rate;
    ++state.pace;
    if (rate > 0) {
      const Seconds left = std::max(truth.work - state.attained, Seconds(0));
      Push(id, std::max(now_, state.resume_at) + left / rate, EventKind::kFinish);
    }
  }
  const double wanted = job.gpus == 0 ? state.where.cores
                                      : DemandOn(id, state.where.gpus.front()).cpu_cores * job.gpus;
  const double used = std::min(state.where.cores, wanted * state.speed);
  cores_used_now_ += used - state.cores_used;
  state.cores_used = used;
  out.progress.push_back({id, state.attained, state.resume_at > now_ ? 0 : rate, state.startup});
}

void World::UpdateMeters(GpuId gpu) {
  GpuState& g = gpus_[gpu.index()];
  const auto& model = cluster_->model(cluster_->ModelOf(gpu));
  double busy = 0;
  double sm = 0;
  double watts = model.idle_power ? model.idle_power->value : 0;
  for (JobId id : g.residents.jobs()) {
    const core::Demand& d = DemandOn(id, gpu);
    const Ratio speed = states_[id.index()].speed;
    if (!d.known) totals_.busy_known = false;
    if (d.power.value <= 0) totals_.power_known = false;
    busy += d.busy * speed;
    sm += d.sm * speed;
    if (model.idle_power) watts += std::max(0.0, d.power.value - model.idle_power->value) * speed;
  }
  busy = std::min(busy, 1.0);
  sm = std::min(sm, 1.0);
  if (model.power_limit) watts = std::min(watts, model.power_limit->value);
  busy_now_ += busy - g.busy;
  sm_now_ += sm - g.sm;
  watts_now_ += watts - g.watts;
  g.busy = busy;
  g.sm = sm;
  g.watts = watts;
}

void World::Settle(Events& out) {
  for (NodeId n : dirty_nodes_) {
    NodeState& node = nodes_[n.index()];
    node.dirty = false;
    for (JobId id : node.cpu_jobs) MarkJob(id);
    const auto& facts = cluster_->node(n);
    for (int k = 0; k < facts.gpus; ++k) {
      for (JobId id :
           gpus_[facts.first_gpu.index() + static_cast<std::size_t>(k)].residents.jobs()) {
        MarkJob(id);
      }
    }
  }
  dirty_nodes_.clear();
  for (GpuId gpu : dirty_gpus_) NeighbourSpeeds(gpu);
  std::sort(dirty_jobs_.begin(),
            dirty_jobs_.end());  // the order of events must not depend on history
  for (JobId id : dirty_jobs_) {
    State& state = states_[id.index()];
    state.dirty = false;
    if (!state.running) continue;
    UpdateRate(id, out);
    for (GpuId gpu : state.where.gpus) MarkGpu(gpu);
  }
  dirty_jobs_.clear();
  for (GpuId gpu : dirty_gpus_) {
    gpus_[gpu.index()].dirty = false;
    UpdateMeters(gpu);
  }
  dirty_gpus_.clear();
}

}  // namespace sharewell::sim
