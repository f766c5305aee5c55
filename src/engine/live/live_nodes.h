// LiveNodes: the nodes and GPUs of the cluster, and which of them are up. One thread.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/plan.h"
#include "engine/run_request.h"
#include "engine/runner_node.h"

namespace sharewell::engine {

class LiveNodes {
 public:
  // `gpus`: by GpuId.
  LiveNodes(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus);

  std::size_t gpu_count() const { return gpus_.size(); }
  bool AreUp(const std::vector<core::GpuId>& gpus, core::NodeId node) const;
  // Writes a place's nodes and GPUs, as they are called, into a request.
  void Name(const core::Allocation& place, RunRequest& request) const;
  // The other way.
  std::vector<core::GpuId> GpusOf(const RunRequest& request) const;
  core::NodeId NodeOf(const RunRequest& request) const;  // of a CPU-only run; else not valid

  void LoseGpu(const std::string& uuid);
  void ReturnGpu(const std::string& uuid);
  // One that is new is offered: true the first time. One that was down is up, or has other GPUs,
  // as many as before: true.
  bool Come(const RunnerNode& node);
  bool Go(const std::string& name);        // false: it is not known, or was down
  bool EndOffer(const std::string& name);  // false: there was none
  void Add(const RunnerNode& node);        // one that was offered
  std::vector<std::string> UpExcept(const std::vector<RunnerNode>& nodes) const;

 private:
  struct Known {  // by NodeId
    std::string name;
    std::size_t first_gpu = 0, gpus = 0;
    bool up = true;
  };
  Known* Find(const std::string& name);

  std::vector<core::GivenGpu> gpus_;
  std::vector<Known> nodes_;
  std::set<std::string> offered_;  // that came and were not added
  std::set<core::GpuId> lost_;
};

}  // namespace sharewell::engine
