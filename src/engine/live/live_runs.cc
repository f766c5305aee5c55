#include "engine/live/live_runs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sharewell::engine {

using core::GpuId;
using core::JobId;
using core::Seconds;

namespace {

template <class Ids, class Wanted>
bool HasId(const Ids& ids, const Wanted& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

LiveRuns::LiveRuns(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus, Runner& runner,
                   const LiveOptions& options)
    : runner_(runner), options_(options), gpus_(std::move(gpus)), on_gpu_(gpus_.size()) {
  for (const core::Node& node : cluster.nodes()) {
    nodes_.push_back(
        {node.name, node.first_gpu.index(), static_cast<std::size_t>(node.gpus), true});
  }
}

void LiveRuns::Know(const core::Job& job, RunRequest request) {
  Entry& entry = jobs_[job.id];
  if (const auto parked = parked_.find(request.id.job);
      parked != parked_.end() && !parked->second.run->leaves) {
    entry = std::move(parked->second);
    parked_.erase(parked);
    runs_[entry.run->request.id] = job.id;
    live_.insert(job.id);
    paused_.push_back({job.id, PlaceOf(*entry.run)});
  }
  entry.exclusive = job.exclusive;
  entry.evictions = job.evicted;
  entry.request = std::move(request);
}

void LiveRuns::Adopt(JobId id, const RunRequest& request, RunRequest next) {
  Entry& job = jobs_[id];
  job.exclusive = !request.gpus.empty() && !request.shares;
  job.believed = true;
  job.request = std::move(next);
  Run run;
  run.request = request;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (!HasId(request.gpus, gpus_[i])) continue;
    run.gpus.emplace_back(i);
    on_gpu_[i].push_back(id);
  }
  for (std::size_t i = 0; i < nodes_.size() && request.gpus.empty(); ++i) {
    if (HasId(request.nodes, nodes_[i].name)) run.node = core::NodeId(i);
  }
  job.settled = runner_.Now();
  job.fresh = job.due = true;
  job.run = std::move(run);
  runs_[request.id] = id;
  live_.insert(id);
}

void LiveRuns::SetPace(JobId id, const LonePace& pace) {
  if (const auto found = jobs_.find(id); found != jobs_.end()) found->second.pace = pace;
}

void LiveRuns::SetTimeLimit(JobId id, Seconds limit) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || !found->second.Runs()) return;
  runner_.Change(found->second.run->request.id, {.time_limit = limit});
}

void LiveRuns::Reckon(Entry& job, bool told_steps) {
  const Seconds now = runner_.Now();
  const auto& steps_alone = job.pace.steps;
  const core::Ratio alone = job.pace.rate;
  job.attained += (now - job.settled) * job.rate;
  job.settled = now;
  job.rate = alone;
  if (!job.steps || !steps_alone || *steps_alone <= 0 || alone <= 0) return;
  const double work_a_step = alone / *steps_alone;
  if (told_steps) job.attained = Seconds(*job.steps * work_a_step);
  if (const auto lately = job.window.PerSecond()) job.rate = *lately * work_a_step;
}

// Somebody came to these GPUs or left them: paces measured before say nothing any more.
void LiveRuns::ResidentsChanged(const std::vector<GpuId>& where) {
  for (const GpuId gpu : where) {
    for (const JobId id : on_gpu_[gpu.index()]) {
      jobs_[id].window.Clear();
      jobs_[id].fresh = true;
    }
  }
}

bool LiveRuns::Free(const Entry& job) const {
  const bool back = job.run && job.run->wanted_back && !job.run->leaves;
  if (back && job.run->paused != Paused::kPaused) return false;
  if (job.run && !back) return false;  // its own last attempt leaves
  if (runner_.Now() < job.not_before) return false;
  const Run& comes = back ? *job.run : *job.next;
  return !IsBeingLeft(comes.gpus);
}

bool LiveRuns::IsBeingLeft(const std::vector<GpuId>& gpus) const {
  return std::any_of(gpus.begin(), gpus.end(), [&](GpuId gpu) {
    const auto& here = on_gpu_[gpu.index()];
    return std::any_of(here.begin(), here.end(),
                       [&](JobId other) { return !jobs_.at(other).Runs(); });
  });
}

void LiveRuns::Begin(JobId id, Entry& job) {
  const Seconds now = runner_.Now();
  job.run = std::move(*job.next);
  job.next.reset();
  Run& run = *job.run;
  if (run.profile) run.profiled_at = now + *run.profile;
  for (const GpuId gpu : run.gpus) on_gpu_[gpu.index()].push_back(id);
  ResidentsChanged(run.gpus);
  job.window.Clear();
  if (job.steps) job.steps_before = *job.steps;
  job.steps.reset();
  job.settled = now;
  job.rate = 0;
  job.fresh = job.due = true;
  run.attained = job.attained;
  run.began = now;
  runs_[run.request.id] = id;
  touched_ = true;
  runner_.Start(run.request);
  if (run.share < 1) runner_.Change(run.request.id, {.share = run.share});
}

void LiveRuns::BeginWhatCan() {
  for (const JobId id : std::exchange(starts_, {})) {
    Entry& job = jobs_.at(id);
    if (!Free(job)) {
      starts_.push_back(id);
    } else if (job.run) {
      BeginResume(id, job);
    } else {
      Begin(id, job);
    }
  }
}

void LiveRuns::Start(JobId id, const core::Allocation& to, std::optional<Seconds> profile) {
  Entry& job = jobs_[id];
  if (job.over || job.request.id.job == 0) return;  // nobody's: it keeps a GPU from being used
  if (job.IsPaused()) {
    job.believed = job.run->wanted_back = true;
    starts_.push_back(id);
    return BeginWhatCan();
  }
  ++job.request.id.attempt;
  Run run;
  run.request = job.request;
  run.gpus = to.gpus;
  run.profile = profile;
  if (to.gpus.empty()) run.node = to.node;
  RunRequest& request = run.request;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const KnownNode& node = nodes_[i];
    const auto here = [&](GpuId gpu) {
      return gpu.index() >= node.first_gpu && gpu.index() < node.first_gpu + node.gpus;
    };
    if (run.node == core::NodeId(i) || std::any_of(to.gpus.begin(), to.gpus.end(), here)) {
      request.nodes.push_back(node.name);
    }
  }
  for (const GpuId gpu : to.gpus) request.gpus.push_back(gpus_[gpu.index()]);
  request.cores = to.cores;
  request.expected_memory = job.pace.gpu_memory;
  const bool alone =
      job.exclusive || job.ooms > 0 || job.evictions >= core::kEvictionsAlone || options_.alone;
  request.shares = !to.gpus.empty() && !alone;
  if (request.shares) {
    request.gpu_memory = request.asked.gpu_memory;
    if (to.sm_share < 1) request.thread_share = to.sm_share;
  }
  job.believed = true;
  const bool usable = Usable(run);
  job.next = std::move(run);
  live_.insert(id);
  if (!usable) {
    requeued_.push_back(id);
    GiveUp(id, job, Outcome::kRequeued);
  } else if (Free(job)) {
    Begin(id, job);
  } else {
    starts_.push_back(id);
  }
}

void LiveRuns::GiveUp(JobId id, Entry& job, Outcome outcome, const std::string& why) {
  RunEnd end;
  end.signal = 15;
  end.exit_code = 128 + end.signal;
  end.refused = !why.empty();
  end.message = why.empty() ? "it was stopped before it began" : why;
  ended_.push_back({id, job.next->request.id, std::move(end), outcome, job.run.has_value()});
  std::erase(starts_, id);
  job.next.reset();
  if (!job.run) live_.erase(id);
}

void LiveRuns::Leave(Entry& job, Why why) {
  if (job.run->leaves) {
    // Whoever gave it up for good is not overruled.
    if (*job.run->leaves == Why::kFail) return;
    job.run->leaves = why;
    if (why == Why::kFail) SendStop(*job.run);
    return;
  }
  const Seconds now = runner_.Now();
  job.attained += (now - job.settled) * std::exchange(job.rate, 0.0);
  job.settled = now;
  job.run->leaves = why;
  SendStop(*job.run);
}

void LiveRuns::SendStop(Run& run) {
  touched_ = true;
  run.was_told = true;
  run.stop_again.reset();
  runner_.Stop(run.request.id, {options_.grace, run.leaves == Why::kFail});
}

void LiveRuns::LeaveByPlan(JobId id) {
  Entry& job = jobs_[id];
  if (job.next) GiveUp(id, job, Outcome::kRequeued);
  if (job.run) Leave(job, Why::kPlan);
  std::erase(requeued_, id);  // the plan says where it goes
}

void LiveRuns::StopByPlan(JobId id) {
  LeaveByPlan(id);
  jobs_[id].believed = false;
}

void LiveRuns::ArriveByPlan(JobId id, const core::Allocation& to) {
  // What ran out of memory in the same moment is told so, and decided on anew.
  if (HasId(out_of_memory_, id)) {
    ++jobs_[id].request.id.attempt;  // it was decided on
  } else {
    Start(id, to, std::nullopt);
  }
}

void LiveRuns::Resize(JobId id, double cores) {
  Entry& job = jobs_[id];
  if (job.next) {
    job.next->request.cores = cores;
  } else if (job.Runs()) {
    job.window.Clear();
    job.fresh = touched_ = true;
    runner_.Change(job.run->request.id, {.cores = cores});
  }
}

void LiveRuns::Throttle(JobId id, core::Ratio share) {
  Entry& job = jobs_[id];
  if (job.next) {
    job.next->share = share;
  } else if (job.Runs()) {
    job.window.Clear();
    job.fresh = touched_ = true;
    runner_.Change(job.run->request.id, {.share = share});
  }
}

void LiveRuns::Drop(JobId id) {
  jobs_[id].over = true;
  known_over_.push_back(id);
}

void LiveRuns::Withdraw(JobId id) {
  Entry& job = jobs_[id];
  if (job.believed || job.IsPaused()) return Cancel(id);
  Over(id, job, failed_);  // what is left of its last attempt leaves as it was told to
}

void LiveRuns::Cancel(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.over) return;
  Entry& job = found->second;
  if (job.run) {
    // The end of what runs is its end: what was to come after is not spoken of.
    std::erase(starts_, id);
    job.next.reset();
    return Leave(job, Why::kFail);
  }
  if (job.next) GiveUp(id, job, Outcome::kFailed);
  Over(id, job, failed_);
}

void LiveRuns::Requeue(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.over || !found->second.believed) return;
  Entry& job = found->second;
  if (job.next) {
    requeued_.push_back(id);
    GiveUp(id, job, Outcome::kRequeued);
  } else if (job.Runs() || job.IsPaused()) {
    job.run->wanted_back = false;
    std::erase(starts_, id);
    Leave(job, Why::kRequeue);
  }
}

bool LiveRuns::TakeTouched() { return std::exchange(touched_, false); }

std::optional<Seconds> LiveRuns::NextDue() const {
  std::optional<Seconds> next;
  const auto also = [&](Seconds at) { next = next ? std::min(*next, at) : at; };
  for (const JobId id : live_) {
    const Entry& job = jobs_.at(id);
    if (job.Runs() && job.run->profiled_at) also(*job.run->profiled_at);
    const bool waits = (job.next && !job.run) || (job.run && job.run->wanted_back);
    if (waits && job.not_before > runner_.Now()) also(job.not_before);
    if (job.run && job.run->stays_until) also(*job.run->stays_until);
    if (job.run && job.run->stop_again) also(*job.run->stop_again);
  }
  return next;
}

bool LiveRuns::Owes() const {
  const Seconds now = runner_.Now();
  if (news_ || !paused_.empty() || !finished_.empty() || !failed_.empty() ||
      !out_of_memory_.empty() || !requeued_.empty()) {
    return true;
  }
  return std::any_of(live_.begin(), live_.end(), [&](JobId id) {
    const Entry& job = jobs_.at(id);
    const bool may_stop = job.run && job.run->stays_until && now >= *job.run->stays_until;
    return (job.due && job.Runs()) || may_stop || (job.run && !job.run->refused.empty());
  });
}

std::vector<Ended> LiveRuns::TakeEnded() { return std::exchange(ended_, {}); }

std::vector<RunEvent> LiveRuns::TakeNotes() { return std::exchange(notes_, {}); }

std::optional<double> LiveRuns::StepsOf(JobId id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? std::nullopt : found->second.steps;
}

std::optional<Seconds> LiveRuns::StepsToldAt(JobId id) const {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || !found->second.steps) return std::nullopt;
  return found->second.steps_at;
}

}  // namespace sharewell::engine
