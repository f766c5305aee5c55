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

void LiveRuns::TakeLostGpu(const RunEvent& event) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].uuid == event.gpu) lost_.insert(GpuId(i));
  }
  LeaveUnusable();
  Note(event);
}

void LiveRuns::TakeGpuBack(const RunEvent& event) {
  std::erase_if(lost_, [&](GpuId gpu) { return gpus_[gpu.index()].uuid == event.gpu; });
  Note(event);
}

void LiveRuns::TakeNodeWent(const RunEvent& event) {
  // One that came and went before anybody took it in is not spoken of.
  if (offered_.erase(event.node.name) > 0) {
    std::erase_if(notes_, [&](const RunEvent& note) {
      return note.kind == RunEvent::Kind::kNodeCame && note.node.name == event.node.name;
    });
  }
  KnownNode* node = NodeNamed(event.node.name);
  if (node == nullptr || !std::exchange(node->up, false)) return;
  for (std::size_t i = 0; i < node->gpus; ++i) lost_.insert(GpuId(node->first_gpu + i));
  LeaveUnusable();
  Note(event);
}

void LiveRuns::TakeNodeCame(const RunEvent& event) {
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
  RunEvent event;
  for (const KnownNode& node : nodes_) {
    const bool here = std::any_of(up.begin(), up.end(),
                                  [&](const RunnerNode& one) { return one.name == node.name; });
    if (here || !node.up) continue;
    event.kind = RunEvent::Kind::kNodeWent;
    event.node = {};
    event.node.name = node.name;
    event.message = "it is not among the nodes that are up";
    TakeNodeWent(event);
  }
  event = {};
  event.kind = RunEvent::Kind::kNodeCame;
  for (const RunnerNode& node : up) {
    event.node = node;
    TakeNodeCame(event);
  }
}

void LiveRuns::TakeList(const RunList& list) {
  std::map<RunId, const RunList::Item*> there;
  for (const RunList::Item& item : list.runs) there[item.id] = &item;
  RunEvent event;
  for (const auto& [run_id, id] : std::map<RunId, JobId>(runs_)) {
    Run& run = *jobs_.at(id).run;
    if (run.command > list.token) continue;  // it was started after that
    event = {};
    event.id = run_id;
    const auto found = there.find(run_id);
    if (found == there.end()) {
      event.end.lost = run.started;
      event.end.refused = !run.started;
      event.end.message = run.started ? "nobody knows how it ended" : "its start never arrived";
      TakeEnd(event);
    } else if (found->second->end) {
      event.end = *found->second->end;
      TakeEnd(event);
    } else {
      if (found->second->started) TakeStart(event);
      if (run.leaves && run.refused.empty()) SendStop(run);  // again: it may not have arrived
    }
  }
  for (const RunList::Item& item : list.runs) {
    const auto parked = parked_.find(item.id.job);
    if (parked != parked_.end() && parked->second.run->request.id == item.id) continue;
    if (!item.end && !runs_.contains(item.id)) runner_.Cancel(item.id, options_.grace);  // nobody's
  }
  if (list.token <= listed_) return;  // an older one: nodes may have come or gone since
  listed_ = list.token;
  TakeNodes(list.nodes);
}

}  // namespace sharewell::engine
