// ClusterBook: what the controls of Slurm and of Kubernetes keep alike. The runs under way and how
// each is wanted, those that ended, the nodes with their GPUs, and who else has these. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster_control.h"

namespace sharewell::engine {

enum class WantedRun : std::uint8_t { kNothing, kStop, kCancel };  // besides that it goes on

// What a manager's own record of a run begins with.
struct BookedRun {
  RunRequest request;
  WantedRun wanted = WantedRun::kNothing;
  core::Seconds since;  // in its step
  bool told_started = false;
  double steps = 0;  // told
};

// And of a node.
struct BookedNode {
  RunnerNode node;
  bool usable = false;   // when it is up
  bool told_up = false;  // the service takes it to be
  bool told = false;     // the service has it, whether it is up or not
};

template <class Run, class Node>
class ClusterBook : public ClusterControl {
 public:
  // As Runner has them. Commands are carried out by the next look, in order.
  void Start(const RunRequest& request) override {
    if (runs_.contains(request.id.job) || ended_.contains(request.id)) return;
    Run run;
    run.request = request;
    run.since = now_;
    runs_.emplace(request.id.job, std::move(run));
  }
  void Stop(RunId id) override {
    Run* run = RunOf(id);
    if (run != nullptr && run->wanted == Wanted::kNothing) run->wanted = Wanted::kStop;
  }
  void Cancel(RunId id) override {
    Run* run = RunOf(id);
    if (run != nullptr && std::exchange(run->wanted, Wanted::kCancel) != Wanted::kCancel) {
      AskAgain(*run);
    }
  }
  void CancelWaiting(std::int64_t job) override {
    if (!runs_.contains(job)) cancel_waiting_.insert(job);
  }
  void List(core::Seconds as_of) override {
    list_ = as_of;
  }  // it knows of all that earlier ones do
  void Forget(RunId id) override { ended_.erase(id); }

  // Those that are up, and the GPU models of all that there are; remarks: what is not used, and
  // why.
  std::vector<RunnerNode> Nodes() const {
    std::vector<RunnerNode> up;
    for (const auto& [name, here] : nodes_) {
      if (here.told_up) up.push_back(here.node);
    }
    return up;
  }
  std::vector<std::string> Models() const { return {models_.begin(), models_.end()}; }
  const std::vector<std::string>& remarks() const { return remarks_; }

 protected:
  using Wanted = WantedRun;

  virtual void AskAgain(Run& run) = 0;  // to stop it was said: now it is to be cancelled

  void Emit(RunEvent event) { out_->push_back(std::move(event)); }
  void AnswerList() {
    const auto as_of = std::exchange(list_, std::nullopt);
    if (!as_of) return;
    RunsListed list;
    list.as_of = *as_of;
    for (const auto& [job, run] : runs_) {
      list.runs.push_back({run.request.id, run.told_started, std::nullopt});
    }
    for (const auto& [id, end] : ended_) list.runs.push_back({id, true, end});
    list.nodes = Nodes();
    Emit(std::move(list));
  }
  bool IsNewRemark(const std::string& words) {
    constexpr std::size_t kMostRemarks = 1000;
    const bool is_new = remarks_.size() < kMostRemarks &&
                        std::find(remarks_.begin(), remarks_.end(), words) == remarks_.end();
    if (is_new) remarks_.push_back(words);
    return is_new;
  }

  // A GPU keeps its index when its node comes again.
  void AddGpu(const std::string& uuid, const std::string& model, RunnerNode& node) {
    models_.insert(model);
    const int index = gpus_.contains(uuid) ? gpus_[uuid].index : static_cast<int>(gpus_.size());
    node.gpus.push_back(gpus_[uuid] = {index, uuid, model});
  }
  core::GivenGpu GpuNamed(const std::string& uuid) const {
    const auto found = gpus_.find(uuid);
    return found == gpus_.end() ? core::GivenGpu{0, uuid, ""} : found->second;
  }
  // `taken`: who else has a GPU now, in words, by its uuid.
  void EmitChanged(std::map<std::string, std::string> taken) {
    for (const auto& [uuid, who] : taken) {
      const auto told = taken_.find(uuid);
      if (told == taken_.end() || told->second != who) Emit(GpuTaken{uuid, who});
    }
    for (const auto& [name, here] : nodes_) {
      if (!here.told_up) continue;  // with its node it is gone, not free: NodeCame says more
      for (const core::GivenGpu& gpu : here.node.gpus) {
        if (taken_.contains(gpu.uuid) && !taken.contains(gpu.uuid)) Emit(GpuTaken{gpu.uuid});
      }
    }
    taken_ = std::move(taken);
  }

  core::Seconds now_;
  std::vector<RunEvent>* out_ = nullptr;  // of the look under way
  std::map<std::int64_t, Run> runs_;      // at most one of a job at a time
  std::map<RunId, RunEnd> ended_;         // and not forgotten
  std::set<std::int64_t> cancel_waiting_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, core::GivenGpu> gpus_;  // by uuid
  std::map<std::string, std::string> taken_;    // as told, by uuid
  std::set<std::string> models_;

 private:
  Run* RunOf(RunId id) {
    const auto found = runs_.find(id.job);
    return found == runs_.end() || found->second.request.id != id ? nullptr : &found->second;
  }

  std::vector<std::string> remarks_;
  std::optional<core::Seconds> list_;  // to be answered
};

}  // namespace sharewell::engine
