#include "core/snapshot.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/result.h"

namespace sharewell::core {

void Residents::Add(JobId job) {
  SHAREWELL_CHECK(count_ < jobs_.size());
  jobs_[count_++] = job;
}

void Residents::Remove(JobId job) {
  auto* end = jobs_.data() + count_;
  auto* it = std::find(jobs_.data(), end, job);
  SHAREWELL_CHECK(it != end);
  std::copy(it + 1, end, it);  // keeps the order of arrival
  --count_;
}

void Residents::Renumber(const Renumbering& ids) {
  for (std::size_t i = 0; i < count_; ++i) {
    jobs_[i] = ids.Of(jobs_[i]);
    SHAREWELL_CHECK(jobs_[i].valid());
  }
}

Bytes HostMemoryAskedOn(const JobView& view, int gpus) {
  if (!view.job.host_memory) return {};
  const double all = std::max(0.0, view.job.host_memory->value);
  if (view.cpu_only()) return Bytes(std::ceil(all));
  return Bytes(std::ceil(all / view.job.gpus) * gpus);
}

Bytes HostMemoryOn(const Node& node, const JobView& view, int gpus) {
  if (!node.memory) return {};
  Bytes believed;
  if (const auto& on = view.estimate.on; !on.empty()) {
    const auto& there = view.cpu_only() ? on.front() : on[node.model.index()];
    const double one = std::ceil(there.demand.host_memory.value * view.estimate.host_memory_upper);
    believed = Bytes(one * (view.cpu_only() ? 1 : gpus));
  }
  const Bytes most(std::floor(node.memory->value));
  return std::max(HostMemoryAskedOn(view, gpus), std::min(believed, most));
}

Bytes PausedMemoryOn(const Node& node, const JobView& view, int gpus) {
  if (!node.memory) return {};
  Bytes on_gpus;
  if (const auto& on = view.estimate.on; !on.empty() && gpus > 0) {
    on_gpus = Bytes(std::ceil(on[node.model.index()].demand.gpu_memory.value * gpus));
  }
  return HostMemoryOn(node, view, gpus) + on_gpus;
}

Snapshot::Snapshot(const Cluster& cluster, Seconds restart_cost)
    : cluster_(&cluster), default_restart_cost_(restart_cost) {
  Grow();
}

void Snapshot::Grow() {
  const auto& nodes = cluster_->nodes();
  for (std::size_t i = idle_.size(); i < nodes.size(); ++i) {
    idle_.push_back(nodes[i].gpus);
    idle_total_ += nodes[i].gpus;
  }
  residents_.resize(cluster_->gpu_count());
  changed_.resize(cluster_->gpu_count(), Seconds(-1));
  foreign_memory_.resize(cluster_->gpu_count());
  cores_used_.resize(nodes.size(), 0.0);
  foreign_host_.resize(nodes.size());
  cpu_only_cores_.resize(nodes.size(), 0.0);
  memory_used_.resize(nodes.size());
  cpu_only_memory_.resize(nodes.size());
}

Seconds Snapshot::attained(const JobView& view) const {
  if (view.state != JobState::kRunning) return view.attained;
  return view.attained + (now_ - view.observed) * view.rate;
}

Seconds Snapshot::run_time(const JobView& view) const {
  if (view.state != JobState::kRunning) return view.run_time;
  return view.run_time + (now_ - view.observed);
}

Seconds Snapshot::alone_time(const JobView& view) const { return AloneTime(view, attained(view)); }

Seconds Snapshot::AloneTime(const JobView& view, Seconds attained) const {
  const auto& gpus = view.allocation.gpus;
  const double rate = gpus.empty() ? 1 : view.estimate.On(cluster_->ModelOf(gpus.front())).rate;
  return std::max(view.alone_time + (attained - view.attained) / std::max(rate, 1e-9), Seconds(0));
}

std::optional<Seconds> Snapshot::remaining(const JobView& view) const {
  if (!view.estimate.duration) return std::nullopt;
  const Seconds total = *view.estimate.duration;
  // A job that outlived its estimate is believed to be near its end, not past it.
  return std::max(total - attained(view), total * 0.02);
}

Seconds Snapshot::restart_cost(const JobView& view) const {
  return view.job.restart_cost.value_or(default_restart_cost_);
}

// While `gpus` are held, use grows by that many a second and decays by its own size: the difference
// to the use at which the two are equal halves in each half-life.
double Snapshot::usage(UserId user) const {
  if (user.index() >= usage_.size()) return 0;
  const Usage& used = usage_[user.index()];
  const double steady = used.gpus * kUsageHalfLife.value / std::numbers::ln2;
  return steady + (used.gpu_seconds - steady) * std::pow(2, -((now_ - used.at) / kUsageHalfLife));
}

int Snapshot::gpus_held(UserId user) const {
  return user.index() < usage_.size() ? usage_[user.index()].gpus : 0;
}

double Snapshot::weight(UserId user) const {
  return user.index() < usage_.size() ? usage_[user.index()].weight : 1;
}

Snapshot::Usage& Snapshot::UsageNow(UserId user) {
  if (user.index() >= usage_.size()) usage_.resize(user.index() + 1);
  Usage& used = usage_[user.index()];
  used.gpu_seconds = usage(user);
  used.at = now_;
  return used;
}

void Snapshot::AddUsage(UserId user, double gpu_seconds) {
  UsageNow(user).gpu_seconds += gpu_seconds;
}

void Snapshot::CountBacklog(const JobView& view, int sign) {
  const double total = view.estimate.duration.value_or(Seconds(600)).value;
  const double left = std::max(total - view.attained.value, 0.02 * total);
  const bool running = view.state == JobState::kRunning;
  const double pace = running && left > 0.02 * total ? view.rate : 0;
  if (view.state == JobState::kWaiting) sums_.waiting += sign * view.job.gpus * left;
  sums_.left += sign * view.job.gpus * (left + pace * view.observed.value);
  sums_.pace += sign * view.job.gpus * pace;
}

Snapshot::Backlog Snapshot::backlog() const {
  return {std::max(0.0, sums_.left - sums_.pace * now_.value), std::max(0.0, sums_.waiting)};
}

void Snapshot::AdvanceTo(Seconds now) {
  SHAREWELL_CHECK(now >= now_);
  now_ = now;
}

Bytes GpuMemoryUpper(const JobView& view, const std::optional<Bytes>& as_guest) {
  const Bytes believed = view.estimate.gpu_memory_upper;
  if (as_guest && view.estimate.guessed) return *as_guest;
  return as_guest ? std::min(believed, *as_guest) : believed;
}

Bytes GpuMemoryUpper(const JobView& view) {
  const bool runs = view.state == JobState::kRunning;
  return GpuMemoryUpper(view, runs ? view.allocation.guest_memory : std::nullopt);
}

void Snapshot::Submit(Job job, Estimate estimate) {
  SHAREWELL_CHECK(job.id.index() == jobs_.size());
  JobView view;
  view.since = now_;
  if (arrivals_.empty() || arrivals_.back() != now_) arrivals_.push_back(now_);
  if (arrivals_.size() > kArrivals) arrivals_.erase(arrivals_.begin());
  view.job = std::move(job);
  view.evictions = view.job.evicted;
  view.guest_oom = view.job.guest_oom;
  view.estimate = std::move(estimate);
  jobs_.push_back(std::move(view));
  position_.push_back(static_cast<std::uint32_t>(waiting_.size()));
  waiting_.push_back(jobs_.back().job.id);
  CountBacklog(jobs_.back(), +1);
  if (jobs_.back().cpu_only()) ++cpu_only_jobs_;
  const Job& added = jobs_.back().job;
  if (added.user.valid() && added.weight != weight(added.user)) {
    UsageNow(added.user).weight = added.weight;
  }
}

void Snapshot::Enter(JobId id, JobState state) {
  JobView& view = at(id);
  if (view.state == JobState::kRunning) Observe(id, attained(view), 0, view.startup);
  if (view.stays) SetStays(id, false);
  if (view.job.user.valid()) {
    const int held = static_cast<int>(state == JobState::kRunning) -
                     static_cast<int>(view.state == JobState::kRunning);
    if (held != 0) UsageNow(view.job.user).gpus += held * view.job.gpus;
  }
  CountBacklog(view, -1);
  if (view.state == JobState::kWaiting || view.state == JobState::kRunning) {
    auto& from = view.state == JobState::kWaiting ? waiting_ : running_;
    const std::uint32_t hole = position_[id.index()];
    from[hole] = from.back();
    position_[from[hole].index()] = hole;
    from.pop_back();
  }
  view.state = state;
  view.since = now_;
  view.observed = now_;
  if (state == JobState::kWaiting || state == JobState::kRunning) {
    auto& to = state == JobState::kWaiting ? waiting_ : running_;
    position_[id.index()] = static_cast<std::uint32_t>(to.size());
    to.push_back(id);
    CountBacklog(view, +1);
  }
}

double Snapshot::CoresOn(const Cluster& cluster, const Allocation& where, NodeId node) {
  if (where.gpus.empty()) return where.node == node ? where.cores : 0;
  std::size_t here = 0;
  for (GpuId gpu : where.gpus) here += cluster.NodeOf(gpu) == node ? 1 : 0;
  return where.cores * static_cast<double>(here) / static_cast<double>(where.gpus.size());
}

void Snapshot::HoldMemory(const JobView& view, const Allocation& where, int sign) {
  if (!cluster_->states_memory()) return;
  EachNode(*cluster_, where, [&](NodeId node, int gpus) {
    const Bytes held = (view.paused ? PausedMemoryOn(cluster_->node(node), view, gpus)
                                    : HostMemoryOn(cluster_->node(node), view, gpus)) *
                       sign;
    memory_used_[node.index()] += held;
    if (view.cpu_only() && !view.job.keeps_place) cpu_only_memory_[node.index()] += held;
  });
}

void Snapshot::Occupy(JobId id, const Allocation& where, int sign) {
  HoldMemory(at(id), where, sign);
  if (where.gpus.empty()) {
    cores_used_[where.node.index()] += sign * where.cores;
    if (!at(id).job.keeps_place) cpu_only_cores_[where.node.index()] += sign * where.cores;
    return;
  }
  const double cores_a_gpu = where.cores / static_cast<double>(where.gpus.size());
  for (GpuId gpu : where.gpus) {
    Residents& here = residents_[gpu.index()];
    const NodeId node = cluster_->NodeOf(gpu);
    const bool was_idle = here.count() == 0;
    sign > 0 ? here.Add(id) : here.Remove(id);
    changed_[gpu.index()] = now_;
    const int change = static_cast<int>(here.count() == 0) - static_cast<int>(was_idle);
    idle_[node.index()] += change;
    idle_total_ += change;
    double& used = cores_used_[node.index()];
    used += sign * cores_a_gpu;
    if (used < 1e-9) used = 0;  // sums of shares must not leave dust behind
  }
}

void Snapshot::Start(JobId id, const Allocation& to) {
  SHAREWELL_CHECK(at(id).state == JobState::kWaiting);
  SetPaused(id, std::nullopt);
  Enter(id, JobState::kRunning);
  at(id).allocation = to;
  at(id).told = false;
  youngest_started_ = std::max(youngest_started_, at(id).job.submit);
  Occupy(id, to, +1);
}

void Snapshot::Stop(JobId id, bool evicted) {
  if (evicted) ++at(id).evictions;
  SHAREWELL_CHECK(at(id).state == JobState::kRunning);
  Occupy(id, at(id).allocation, -1);
  Enter(id, JobState::kWaiting);
  ++at(id).restarts;
}

void Snapshot::TakeBack(JobId id, const Allocation& where, Seconds since) {
  Start(id, where);
  at(id).since = since;
  at(id).restarts = std::max(at(id).restarts - 1, 0);
}

void Snapshot::SetStays(JobId id, bool stays) {
  SHAREWELL_CHECK(at(id).state == JobState::kRunning);
  if (std::exchange(at(id).stays, stays) != stays) staying_ += stays ? 1 : -1;
}

void Snapshot::Pause(JobId id) {
  SHAREWELL_CHECK(at(id).state == JobState::kRunning);
  Occupy(id, at(id).allocation, -1);
  Enter(id, JobState::kWaiting);
  SetPaused(id, at(id).allocation);
}

void Snapshot::SetPaused(JobId id, const std::optional<Allocation>& where) {
  SHAREWELL_CHECK(at(id).state == JobState::kWaiting);
  if (at(id).paused) HoldMemory(at(id), at(id).allocation, -1);
  if (where) at(id).allocation = *where;
  at(id).paused = where.has_value();
  if (at(id).paused) HoldMemory(at(id), at(id).allocation, +1);
}

void Snapshot::Move(JobId id, const Allocation& to) {
  SHAREWELL_CHECK(at(id).state == JobState::kRunning);
  // What it did so far, it did on the old GPUs.
  Observe(id, attained(at(id)), at(id).rate, at(id).startup);
  Occupy(id, at(id).allocation, -1);
  at(id).allocation = to;
  Occupy(id, to, +1);
  ++at(id).restarts;
}

void Snapshot::Finish(JobId id, JobState how) {
  if (at(id).state == JobState::kRunning) Occupy(id, at(id).allocation, -1);
  if (at(id).state == JobState::kWaiting) SetPaused(id, std::nullopt);
  if (at(id).cpu_only()) --cpu_only_jobs_;
  Enter(id, how);
}

void Snapshot::Resize(JobId id, double cores) {
  const Allocation before = at(id).allocation;
  Occupy(id, before, -1);
  at(id).allocation.cores = cores;
  Occupy(id, at(id).allocation, +1);
}

void Snapshot::SetForeignMemory(GpuId gpu, Bytes held) {
  foreign_memory_[gpu.index()] = held;
  changed_[gpu.index()] = now_;  // whoever may share there now has not tried
  any_foreign_memory_ = std::any_of(foreign_memory_.begin(), foreign_memory_.end(),
                                    [](Bytes one) { return one > Bytes(0); });
}

void Snapshot::SetForeignHost(NodeId node, double cores, Bytes memory) {
  ForeignHost& here = foreign_host_[node.index()];
  cores_used_[node.index()] += cores - here.cores;
  memory_used_[node.index()] += memory - here.memory;
  here = {cores, memory};
}

void Snapshot::SetThrottle(JobId id, Ratio share) { at(id).throttle = share; }

void Snapshot::Observe(JobId id, Seconds attained, Ratio rate, Seconds startup) {
  JobView& view = at(id);
  const Seconds ran = now_ - view.observed;
  CountBacklog(view, -1);
  view.run_time += ran;
  view.alone_time = AloneTime(view, attained);  // it may have done less than was believed
  view.attained = attained;
  view.startup = startup;
  view.observed = now_;
  view.rate = rate;
  CountBacklog(view, +1);
}

void Snapshot::SetEstimate(JobId id, Estimate estimate, bool profiled) {
  const bool running = at(id).state == JobState::kRunning;
  CountBacklog(at(id), -1);
  const bool holds = running || at(id).paused;
  if (holds) HoldMemory(at(id), at(id).allocation, -1);
  const auto known = [](const Estimate& of) {
    return !of.on.empty() && of.on[0].demand.known && !of.guessed;
  };
  if (running && !known(at(id).estimate) && known(estimate)) at(id).told = true;
  at(id).estimate = std::move(estimate);
  at(id).profiled = profiled;
  if (holds) HoldMemory(at(id), at(id).allocation, +1);
  CountBacklog(at(id), +1);
  // Whoever may share with it now has not tried.
  if (!running) return;
  for (const GpuId gpu : at(id).allocation.gpus) changed_[gpu.index()] = now_;
}

void Snapshot::CountOom(JobId id) {
  JobView& view = at(id);
  if (view.state == JobState::kRunning && view.allocation.guest() && !view.guest_oom) {
    view.guest_oom = view.allocation.guest_memory;
  } else {
    ++view.ooms;
  }
}

void Snapshot::Renumber(const Renumbering& ids) {
  SHAREWELL_CHECK(ids.before() == jobs_.size());
  for (auto* list : {&waiting_, &running_}) {
    for (JobId& id : *list) {
      id = ids.Of(id);
      SHAREWELL_CHECK(id.valid());
    }
  }
  for (Residents& here : residents_) here.Renumber(ids);
  ids.Apply(jobs_);
  ids.Apply(position_);
  for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i].job.id = JobId(i);
}

}  // namespace sharewell::core
