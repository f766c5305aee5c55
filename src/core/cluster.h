// The machines: nodes of one GPU model each, GPUs numbered node by node. A cluster only grows, at
// its end: ids stay what they are. A node that goes keeps its place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/gpu_islands.h"
#include "core/gpu_model.h"
#include "core/ids.h"
#include "core/units.h"

namespace sharewell::core {

// Unknown host figures are absent: what is not known is neither limited nor contended for.
struct Node {
  std::string name;
  GpuModelId model;  // meaningless on a node without GPUs
  int gpus = 0;
  std::optional<double> cores;
  std::optional<Bytes> memory;
  std::optional<BytesPerSecond> memory_bandwidth;
  std::optional<BytesPerSecond> pcie;     // the node's, shared by its GPUs
  std::optional<BytesPerSecond> network;  // to other nodes
  GpuIslands islands;                     // by number on the node, from 0 on
  GpuId first_gpu;                        // set by Cluster
  bool exclusive = false;                 // each of its GPUs is one job's
  bool reserved = false;                  // only for jobs that name it (Job::allowed_nodes)

  friend bool operator==(const Node&, const Node&) = default;
};

class Cluster {
 public:
  Cluster() = default;
  // REQUIRES: every node with GPUs names a model below models.size().
  Cluster(std::vector<GpuModel> models, std::vector<Node> nodes);
  // The last node, with the last GPUs. REQUIRES: as above. Whoever keeps tables by node or GPU is
  // told (Snapshot::Grow).
  NodeId Add(Node node);
  // Whoever decides begins anew (Loop::Follow).
  void SetReserved(NodeId id, bool reserved) { nodes_[id.index()].reserved = reserved; }
  void SetExclusive(NodeId id, bool exclusive) { nodes_[id.index()].exclusive = exclusive; }
  // The nodes are one machine, whose memory moves so much: each has its part, as its GPUs are of
  // all.
  void ShareOutMemoryBandwidth(BytesPerSecond rate);

  const std::vector<GpuModel>& models() const { return models_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const GpuModel& model(GpuModelId id) const { return models_[id.index()]; }
  const Node& node(NodeId id) const { return nodes_[id.index()]; }
  std::size_t gpu_count() const { return gpu_node_.size(); }
  NodeId NodeOf(GpuId gpu) const { return gpu_node_[gpu.index()]; }
  GpuModelId ModelOf(GpuId gpu) const { return node(NodeOf(gpu)).model; }
  bool states_memory() const { return states_memory_; }  // some node's host memory is known
  // Of the nodes with that GPU model: GPUs in all, most GPUs on one node, and the fewest cores for
  // each GPU where they state their cores.
  int CountOf(GpuModelId id) const { return by_model_[id.index()].gpus; }
  int LargestNodeOf(GpuModelId id) const { return by_model_[id.index()].largest; }
  std::optional<double> CoresAGpu(GpuModelId id) const { return by_model_[id.index()].cores_a_gpu; }

 private:
  std::vector<GpuModel> models_;
  std::vector<Node> nodes_;
  std::vector<NodeId> gpu_node_;
  struct ByModel {
    int gpus = 0;
    int largest = 0;
    std::optional<double> cores_a_gpu;
  };
  std::vector<ByModel> by_model_;
  bool states_memory_ = false;
};

}  // namespace sharewell::core
