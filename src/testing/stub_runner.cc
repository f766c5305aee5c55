#include "testing/stub_runner.h"

#include <algorithm>
#include <utility>

#include "core/result.h"

namespace sharewell::fixtures {

using core::JobId;
using engine::RunEnd;
using engine::RunEvent;
using engine::RunId;

namespace {

JobId JobOfRun(RunId id) { return JobId(static_cast<std::size_t>(id.job - 1)); }

}  // namespace

engine::RunRequest StubRunner::RequestOf(const core::Job& job) {
  engine::RunRequest request;
  request.id = {static_cast<std::int64_t>(job.id.value) + 1, 0};
  request.asked.exclusive = job.exclusive;
  return request;
}

StubRunner::StubRunner(sim::World& world, std::function<void(const core::Job&)> submit,
                       std::function<void(JobId, core::Ratio)> pace)
    : world_(world), submit_(std::move(submit)), pace_(std::move(pace)) {}

void StubRunner::Start(const engine::RunRequest& request) {
  const JobId job = JobOfRun(request.id);
  SHAREWELL_CHECK(running_.try_emplace(job, request).second);
  core::Allocation to;
  to.cores = request.cores;
  for (const core::GivenGpu& gpu : request.gpus) {
    to.gpus.emplace_back(static_cast<std::size_t>(gpu.index));
  }
  if (to.gpus.empty()) to.node = core::NodeId(0);
  world_.Start(job, to, std::nullopt);
  begun_.push_back(job);
  touched_ = true;
  ++starts_;
}

void StubRunner::End(JobId job, RunEnd end) {
  told_.push_back(engine::RunEnded{running_.at(job).id, std::move(end)});
  running_.erase(job);
}

void StubRunner::Stop(RunId id, const engine::StopOrder&) {
  const auto found = running_.find(JobOfRun(id));
  if (found == running_.end() || found->second.id != id) return;
  world_.Stop(found->first);
  RunEnd end;
  end.signal = 15;
  end.exit_code = 143;
  End(found->first, std::move(end));
  touched_ = true;
}

void StubRunner::Change(RunId id, const engine::RunBounds& bounds) {
  if (bounds.cores) world_.Resize(JobOfRun(id), *bounds.cores);
  if (bounds.share) world_.Throttle(JobOfRun(id), *bounds.share);
  touched_ = touched_ || bounds.cores || bounds.share;
}

void StubRunner::NodeGoes(const std::string& name) {
  told_.push_back(engine::NodeWent{name});
  std::vector<JobId> lost;
  for (const auto& [job, request] : running_) {
    const auto& nodes = request.nodes;
    if (std::find(nodes.begin(), nodes.end(), name) != nodes.end()) lost.push_back(job);
  }
  RunEnd end;
  end.lost = true;
  for (const JobId job : lost) {
    world_.Stop(job);
    End(job, end);
  }
  touched_ = touched_ || !lost.empty();
}

void StubRunner::NodeComes(const engine::RunnerNode& node) {
  told_.push_back(engine::NodeCame{node});
}

void StubRunner::TellProgress() {
  for (const JobId job : std::exchange(begun_, {})) {
    if (running_.contains(job)) told_.push_back(engine::RunStarted{running_.at(job).id});
  }
  for (const sim::Progress& p : events_.progress) {
    pace_(p.job, p.rate);
    told_.push_back(engine::RunProgress{running_.at(p.job).id, p.attained.value});
  }
}

bool StubRunner::Wait(std::optional<core::Seconds> until, std::vector<RunEvent>& out) {
  // Rates are worked out once for all that was changed: not while ends are still being heard of.
  if (told_.empty() && touched_) {
    events_.Clear();
    world_.Settle(events_);
    TellProgress();
    touched_ = false;
  } else if (told_.empty()) {
    std::optional<core::Seconds> next = world_.NextEvent();
    if (next) idle_wakes_ = 0;
    if (!next && (!until || ++idle_wakes_ > kMostIdleWakes)) return false;
    if (until) {
      const core::Seconds at = std::max(*until, world_.now());
      next = next ? std::min(*next, at) : at;
    }
    events_.Clear();
    world_.AdvanceTo(*next, events_);
    for (const JobId job : events_.submitted) submit_(world_.jobs()[job.index()]);
    RunEnd failed;
    failed.exit_code = 1;
    RunEnd out_of_memory = failed;
    out_of_memory.out_of_memory = true;
    for (const JobId job : events_.finished) End(job, {});
    for (const JobId job : events_.failed) End(job, failed);
    for (const JobId job : events_.out_of_memory) End(job, out_of_memory);
    TellProgress();
  }
  out.insert(out.end(), told_.begin(), told_.end());
  told_.clear();
  return true;
}

}  // namespace sharewell::fixtures
