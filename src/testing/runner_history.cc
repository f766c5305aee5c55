#include "testing/runner_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sharewell::fixtures {

using core::GpuId;
using core::JobId;
using core::JobState;
using core::Seconds;
using engine::RunEvent;
using engine::RunId;

namespace {

constexpr std::size_t kGpusOfNode = 2;
constexpr int kMostNodes = 4;
constexpr int kMostTurns = 6000;

template <class Items, class Item>
bool Has(const Items& items, const Item& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

std::vector<JobSpec> RandomSpecs(std::uint64_t seed, std::size_t jobs) {
  Dice dice(seed + 1000);
  std::vector<JobSpec> specs(jobs);
  double submit = 0;
  for (JobSpec& spec : specs) {
    spec.seconds = dice.LogUniform(1, 200);
    spec.gpus = dice.Between(0, 2);
    spec.submit = submit += dice.Uniform(0, 10);
    if (spec.gpus == 0) spec.cores = 1;
  }
  return specs;
}

std::vector<core::GivenGpu> GpusOf(int nodes) {
  std::vector<core::GivenGpu> gpus;
  for (const engine::RunnerNode& node : NodesOf(nodes)) {
    gpus.insert(gpus.end(), node.gpus.begin(), node.gpus.end());
  }
  return gpus;
}

}  // namespace

engine::RunnerNode NodeOf(std::size_t number) {
  engine::RunnerNode node;
  node.name = fmt::format("n{}", number);
  node.cores = 16;
  for (std::size_t i = 0; i < kGpusOfNode; ++i) {
    const auto index = static_cast<int>(number * kGpusOfNode + i);
    node.gpus.push_back({index, fmt::format("GPU-{}", index), "A"});
  }
  return node;
}

std::vector<engine::RunnerNode> NodesOf(int count) {
  std::vector<engine::RunnerNode> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back(NodeOf(static_cast<std::size_t>(i)));
  return nodes;
}

core::Cluster ClusterOf(int nodes) {
  ClusterBuilder builder;
  builder.Model("A");
  for (int i = 0; i < nodes; ++i) builder.Node(kGpusOfNode).Cores(16);
  return builder.Build();
}

void AuditRunner::Check(bool right, const std::string& else_wrong) {
  if (!right && wrong.empty()) wrong = else_wrong;
}

void AuditRunner::Start(const engine::RunRequest& request) {
  const std::string name = fmt::format("run {}.{}", request.id.job, request.id.attempt);
  Check(started_.insert(request.id).second, name + " is started twice");
  started_at_[request.id] = Now();
  Check(!request.nodes.empty(), name + " has no node");
  for (const auto& [id, other] : there_) {
    Check(id.job != request.id.job, name + " is started while another attempt is there");
  }
  CheckRoom(request, name);
  if (refusals_ > 0) {
    --refusals_;
    return Emit(engine::StartRefused{request.id, "no licence is free"});
  }
  there_[request.id] = request;
  runner_.Start(request);
}

void AuditRunner::CheckRoom(const engine::RunRequest& request, const std::string& name) {
  for (const core::GivenGpu& gpu : request.gpus) {
    int here = 1;
    for (const auto& [id, other] : there_) {
      if (id == request.id || paused_.contains(id) || !Has(other.gpus, gpu)) continue;
      Check(!stopped_.contains(id), name + " is started at a place that is still being left");
      ++here;
    }
    Check(here <= kMostOnGpu, name + " is started on a GPU that is full");
  }
}

void AuditRunner::Pause(RunId id, std::optional<core::Bytes> gpu_memory) {
  stopped_.insert(id);
  pauser_->Pause(id, gpu_memory);
}

void AuditRunner::Resume(RunId id) {
  const std::string name = fmt::format("run {}.{}", id.job, id.attempt);
  Check(there_.contains(id) && paused_.erase(id) > 0, name + " is resumed and was not paused");
  if (there_.contains(id)) CheckRoom(there_.at(id), name);
  pauser_->Resume(id);
}

void AuditRunner::Stop(RunId id, const engine::StopOrder& order) {
  stopped_.insert(id);
  runner_.Stop(id, order);
}

bool AuditRunner::Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) {
  if (applying) Check(until && *until <= Now(), "Apply waits for the runner");
  if (!own_.empty()) {
    out = std::exchange(own_, {});
    return true;
  }
  const bool more = runner_.Wait(until, out);
  for (const RunEvent& event : out) Hear(event);
  return more;
}

void AuditRunner::Hear(const RunEvent& event) {
  if (const auto* ended = std::get_if<engine::RunEnded>(&event)) there_.erase(ended->id);
  if (const auto* refused = std::get_if<engine::StartRefused>(&event)) there_.erase(refused->id);
  if (const auto* kept = std::get_if<engine::StopRefused>(&event)) stopped_.erase(kept->id);
  if (const auto* runs_on = std::get_if<engine::PauseRefused>(&event)) stopped_.erase(runs_on->id);
  if (const auto* stays = std::get_if<engine::ResumeRefused>(&event)) paused_.insert(stays->id);
  if (const auto* paused = std::get_if<engine::RunPaused>(&event)) {
    stopped_.erase(paused->id);
    paused_.insert(paused->id);
  }
  const auto* list = std::get_if<engine::RunsListed>(&event);
  if (list == nullptr) return;
  std::set<RunId> gone;
  for (const auto& [id, at] : started_at_) {
    if (at < list->as_of) gone.insert(id);
  }
  for (const engine::RunsListed::Item& item : list->runs) {
    if (!item.end) gone.erase(item.id);
  }
  for (const RunId& id : gone) there_.erase(id);
}

StubSide::StubSide(std::uint64_t seed, std::size_t jobs)
    : case_(CaseOf(ClusterOf(kMostNodes), RandomSpecs(seed, jobs))),
      world_(case_.cluster, case_.jobs, case_.truth, case_.interference, {seed, Seconds(30)}),
      stub_(
          world_,
          [this](const core::Job& job) { engine_->Submit(job, StubRunner::RequestOf(job)); },
          [this](JobId job, core::Ratio rate) {
            engine_->SetPace(job, {rate, rate});
          }) {}

RunnerHistory::RunnerHistory(std::unique_ptr<RunnerSide> side, std::uint64_t seed, int nodes)
    : side_(std::move(side)),
      dice_(seed),
      cluster_(ClusterOf(nodes)),
      snapshot_(cluster_),
      audit(side_->runner(), side_->pauser()),
      engine(cluster_, GpusOf(nodes), audit,
             {.pauser = side_->pauser() == nullptr ? nullptr : &audit}),
      down_(static_cast<std::size_t>(nodes)) {
  side_->Attach(engine);
}

void RunnerHistory::Submit(int gpus) {
  core::Job job;
  job.id = JobId(submitted_++);
  job.gpus = gpus;
  job.exclusive = pause > 0;  // clients of MPS cannot be paused
  engine::RunRequest request = StubRunner::RequestOf(job);
  // After a renumbering its number is not its id. What is not observed yet comes before it.
  job.id = JobId(snapshot_.job_count() + unseen_++);
  engine.Submit(job, std::move(request));
}

void RunnerHistory::Observe(double seconds) {
  engine::Observation seen;
  if (!engine.Observe(audit.Now() + Seconds(seconds), seen)) return;
  snapshot_.AdvanceTo(seen.now);
  for (const JobId id : seen.finished) snapshot_.Finish(id, JobState::kFinished);
  for (const JobId id : seen.failed) snapshot_.Finish(id, JobState::kFailed);
  for (const JobId id : seen.out_of_memory) snapshot_.Stop(id);
  for (const JobId id : seen.requeued) snapshot_.Stop(id);
  over_ += seen.finished.size() + seen.failed.size();
  for (const auto& job : seen.submitted) snapshot_.Submit(job, EstimateOf({}, cluster_));
  for (const auto& one : seen.paused) {
    if (snapshot_.job(one.job).state == JobState::kWaiting) {
      snapshot_.SetPaused(one.job, one.where);
    }
  }
  for (const auto& one : seen.stays) {
    kept_ += one.where ? 1 : 0;
    if (one.where) snapshot_.TakeBack(one.job, *one.where, one.since);
    snapshot_.SetStays(one.job, one.stays);
  }
  unseen_ = 0;
  Settle();
}

void RunnerHistory::Decide(double start, double stop, double move) {
  core::Plan plan;
  for (std::size_t j = 0; j < snapshot_.job_count(); ++j) {
    const JobId id(j);
    const core::JobView& view = snapshot_.job(id);
    if (view.state == JobState::kRunning && !view.may_stop()) continue;
    if (view.state == JobState::kRunning && pause > 0 && dice_.Chance(pause)) {
      plan.stops.push_back({id, {}, true});
      snapshot_.Pause(id);
    } else if (view.state == JobState::kRunning && dice_.Chance(stop)) {
      plan.stops.push_back({id, {}});
      snapshot_.Stop(id);
    } else if (view.state == JobState::kRunning && dice_.Chance(move)) {
      if (const auto to = Room(view)) {
        plan.moves.push_back({id, *to, false, {}});
        snapshot_.Move(id, *to);
      }
    } else if (view.state == JobState::kWaiting && dice_.Chance(start)) {
      if (const auto to = Room(view)) {
        resumed_ += view.paused ? 1 : 0;
        plan.starts.push_back({id, *to, {}, {}});
        snapshot_.Start(id, *to);
      }
    }
  }
  engine::Observation seen;
  const Seconds before = audit.Now();
  audit.applying = true;
  engine.Apply(plan, seen);
  audit.applying = false;
  if (audit.Now() != before && wrong_.empty()) wrong_ = "Apply took time";
  Settle();
}

std::optional<core::Allocation> RunnerHistory::Room(const core::JobView& view) const {
  const auto has_room = [&](GpuId gpu) {
    return !down_[cluster_.NodeOf(gpu).index()] &&
           !lost_gpus_.contains(fmt::format("GPU-{}", gpu.index())) &&
           snapshot_.residents(gpu).count() < AuditRunner::kMostOnGpu;
  };
  core::Allocation to;
  if (view.paused) {  // where it was, or not now
    to = view.allocation;
    if (!std::all_of(to.gpus.begin(), to.gpus.end(), has_room)) return std::nullopt;
    if (to.node.valid() && down_[to.node.index()]) return std::nullopt;
    return to;
  }
  for (std::size_t g = 0; g < cluster_.gpu_count(); ++g) {
    if (static_cast<int>(to.gpus.size()) == view.job.gpus) break;
    if (has_room(GpuId(g))) to.gpus.emplace_back(g);
  }
  if (static_cast<int>(to.gpus.size()) < view.job.gpus) return std::nullopt;
  if (view.job.gpus > 0) return to;
  const auto up = std::find(down_.begin(), down_.end(), false);
  if (up == down_.end()) return std::nullopt;
  to.node = core::NodeId(static_cast<std::size_t>(up - down_.begin()));
  return to;
}

void RunnerHistory::Handle(const RunEvent& note) {
  if (const auto* lost = std::get_if<engine::GpuLost>(&note)) lost_gpus_.insert(lost->gpu);
  if (const auto* back = std::get_if<engine::GpuBack>(&note)) lost_gpus_.erase(back->gpu);
  if (const auto* went = std::get_if<engine::NodeWent>(&note)) SetDown(went->node, true);
  const auto* came = std::get_if<engine::NodeCame>(&note);
  if (came == nullptr) return;
  for (const core::GivenGpu& gpu : came->node.gpus) lost_gpus_.erase(gpu.uuid);
  if (SetDown(came->node.name, false)) return;
  core::Node node;
  node.name = came->node.name;
  node.model = core::GpuModelId(0);
  node.gpus = static_cast<int>(came->node.gpus.size());
  cluster_.Add(node);
  snapshot_.Grow();
  engine.AddNode(came->node);
  down_.push_back(false);
}

bool RunnerHistory::SetDown(const std::string& name, bool down) {
  for (std::size_t i = 0; i < down_.size(); ++i) {
    if (cluster_.nodes()[i].name != name) continue;
    down_[i] = down;
    return true;
  }
  return false;
}

void RunnerHistory::Settle() {
  for (const RunEvent& note : engine.TakeNotes()) Handle(note);
  for (const engine::Ended& end : engine.TakeEnded()) {
    if (++ends_[end.run] > 1 && wrong_.empty()) {
      wrong_ = fmt::format("run {}.{} ended twice", end.run.job, end.run.attempt);
    }
    if (end.end.refused) refusals_.push_back(end.end.message);
    audit.Forget(end.run);
  }
}

// A GPU is lost or back; or a node goes, one that went comes, or a new one does.
void RunnerHistory::Shake() {
  if (dice_.Chance(0.3)) {
    const std::string gpu = fmt::format("GPU-{}", dice_.Between(0, 3));
    if (lost_gpus_.contains(gpu)) return audit.Emit(engine::GpuBack{gpu});
    return audit.Emit(engine::GpuLost{gpu});
  }
  const auto node = static_cast<std::size_t>(dice_.Between(0, kMostNodes - 1));
  if (gone_.erase(node) != 0 || node >= down_.size()) return NodeComes(node);
  gone_.insert(node);
  NodeGoes(node);
}

void RunnerHistory::Meddle() {
  for (std::size_t j = 0; j < snapshot_.job_count(); ++j) {
    const JobState state = snapshot_.job(JobId(j)).state;
    if (state == JobState::kRunning && dice_.Chance(0.01)) engine.Requeue(JobId(j));
    if (state == JobState::kRunning && dice_.Chance(0.003)) engine.Cancel(JobId(j));
    if (state == JobState::kWaiting && dice_.Chance(0.001)) engine.Withdraw(JobId(j));
  }
}

void RunnerHistory::Renumber() {
  if (unseen_ > 0) return;
  std::vector<bool> stays(snapshot_.job_count());
  for (const auto list : {snapshot_.waiting(), snapshot_.running()}) {
    for (const JobId id : list) stays[id.index()] = true;
  }
  engine.MarkStaying(stays);
  const core::Renumbering ids(stays);
  snapshot_.Renumber(ids);
  engine.Renumber(ids);
}

void RunnerHistory::Live(std::size_t jobs, bool shaken) {
  for (int turn = 0; turn < kMostTurns && wrong().empty(); ++turn) {
    if (over_ == jobs && side_->quiet() && AllEnded()) break;
    if (!side_->submits() && submitted_ < jobs && dice_.Chance(0.4)) Submit(dice_.Between(0, 2));
    if (shaken && dice_.Chance(0.03)) Shake();
    Meddle();
    if (renumber > 0 && dice_.Chance(renumber)) Renumber();
    Observe(dice_.Pick({0, 0.5, 5}));
    Decide(0.4, 0.02, 0.02);
  }
  if (over_ != jobs && wrong().empty()) {
    wrong_ = fmt::format("{} of {} jobs came to an end", over_, jobs);
  }
  for (const RunId& run : audit.started()) {
    if (ends_.contains(run) || !wrong().empty()) continue;
    wrong_ = fmt::format("run {}.{} was started and never ended", run.job, run.attempt);
  }
}

bool RunnerHistory::AllEnded() const {
  return std::all_of(audit.started().begin(), audit.started().end(),
                     [&](const RunId& run) { return ends_.contains(run); });
}

std::string RunnerHistory::wrong() const {
  if (!wrong_.empty()) return wrong_;
  return audit.wrong.empty() ? side_->wrong() : audit.wrong;
}

}  // namespace sharewell::fixtures
