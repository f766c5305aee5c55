// GPUs and nodes that come and go, and what is found again by asking what is there.
#include <algorithm>
#include <map>
#include <utility>

#include "engine/live/live_runs.h"

namespace sharewell::engine {

using core::GpuId;
using core::JobId;

LiveRuns::KnownNode* LiveRuns::NodeNamed(const std::string& name) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const KnownNode& node) { return node.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

bool LiveRuns::Usable(const Run& run) const {
  const auto lost = [&](GpuId gpu) { return lost_.contains(gpu); };
  if (std::any_of(run.gpus.begin(), run.gpus.end(), lost)) return false;
  return !run.node.valid() || nodes_[run.node.index()].up;
}

void LiveRuns::LeaveUnusable() {
  for (const JobId id : std::vector<JobId>(live_.begin(), live_.end())) {
    Entry& job = jobs_.at(id);
    if (job.next && !Usable(*job.next)) {
      requeued_.push_back(id);
      GiveUp(id, job, Outcome::kRequeued);
    }
    if ((job.Runs() || job.IsPaused()) && !Usable(*job.run)) {
      Leave(job, job.run->request.asked.requeue ? Why::kRequeue : Why::kFail);
    }
  }
}

void LiveRuns::Handle(const GpuLost& event) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].uuid == event.gpu) lost_.insert(GpuId(i));
  }
  LeaveUnusable();
  Note(event);
}

void LiveRuns::Handle(const GpuBack& event) {
  std::erase_if(lost_, [&](GpuId gpu) { return gpus_[gpu.index()].uuid == event.gpu; });
  Note(event);
}

void LiveRuns::Handle(const NodeWent& event) {
  // One that came and went before anybody took it in is not spoken of.
  if (offered_.erase(event.node) > 0) {
    std::erase_if(notes_, [&](const RunEvent& note) {
      const auto* came = std::get_if<NodeCame>(&note);
      return came != nullptr && came->node.name == event.node;
    });
  }
  KnownNode* node = NodeNamed(event.node);
  if (node == nullptr || !std::exchange(node->up, false)) return;
  for (std::size_t i = 0; i < node->gpus; ++i) lost_.insert(GpuId(node->first_gpu + i));
  LeaveUnusable();
  Note(event);
}

void LiveRuns::Handle(const NodeCame& event) {
  KnownNode* node = NodeNamed(event.node.name);
  if (node == nullptr) {
    if (offered_.insert(event.node.name).second) Note(event);
    return;
  }
  if (node->up || node->gpus != event.node.gpus.size()) return;
  node->up = true;
  for (std::size_t i = 0; i < node->gpus; ++i) {
    gpus_[node->first_gpu + i] = event.node.gpus[i];  // a repaired one is another
    lost_.erase(GpuId(node->first_gpu + i));
  }
  Note(event);
}

void LiveRuns::AddNode(const RunnerNode& node) {
  offered_.erase(node.name);
  nodes_.push_back({node.name, gpus_.size(), node.gpus.size(), true});
  gpus_.insert(gpus_.end(), node.gpus.begin(), node.gpus.end());
  on_gpu_.resize(gpus_.size());
}

void LiveRuns::TakeNodes(const std::vector<RunnerNode>& up) {
  for (const KnownNode& node : nodes_) {
    const bool here = std::any_of(up.begin(), up.end(),
                                  [&](const RunnerNode& one) { return one.name == node.name; });
    if (here || !node.up) continue;
    Handle(NodeWent{node.name, "it is not among the nodes that are up"});
  }
  for (const RunnerNode& node : up) Handle(NodeCame{node});
}

void LiveRuns::Handle(const RunsListed& list) {
  std::map<RunId, const RunsListed::Item*> there;
  for (const RunsListed::Item& item : list.runs) there[item.id] = &item;
  for (const auto& [run_id, id] : std::map<RunId, JobId>(runs_)) {
    Run& run = *jobs_.at(id).run;
    if (run.began && *run.began >= list.as_of) continue;  // it was started after that
    const auto found = there.find(run_id);
    if (found == there.end()) {
      RunEnd end;
      end.lost = run.started;
      end.refused = !run.started;
      end.message = run.started ? "nobody knows how it ended" : "its start never arrived";
      Handle(RunEnded{run_id, std::move(end)});
    } else if (found->second->end) {
      Handle(RunEnded{run_id, *found->second->end});
    } else {
      if (found->second->started) Handle(RunStarted{run_id});
      if (run.leaves && run.refused.empty()) SendStop(run);  // again: it may not have arrived
    }
  }
  for (const RunsListed::Item& item : list.runs) {
    const auto parked = parked_.find(item.id.job);
    if (parked != parked_.end() && parked->second.run->request.id == item.id) continue;
    if (!item.end && !runs_.contains(item.id)) {
      runner_.Stop(item.id, {options_.grace, true});  // nobody's
    }
  }
  if (listed_ && list.as_of <= *listed_) return;  // older: nodes may have come or gone since
  listed_ = list.as_of;
  TakeNodes(list.nodes);
}

}  // namespace sharewell::engine
