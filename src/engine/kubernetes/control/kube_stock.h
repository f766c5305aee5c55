// GPUs that NVIDIA's device plugin gives to pods of other schedulers (nvidia.com/gpu). Nobody says
// which GPU such a pod has, so only numbers can be compared: where the plugin gives out no more
// than the annotation sharewell.io/gpus leaves over, they are taken to be other GPUs; else any of
// ours may be among them. The taint sharewell.io/gpus keeps such pods away. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_pods.h"

namespace sharewell::engine {

inline constexpr std::string_view kStockGpus = "nvidia.com/gpu";

// How many GPUs the device plugin has to give out, how many Sharewell has, and how many there are.
struct KubeGpuCounts {
  std::int64_t plugin = 0, ours = 0, all = 0;

  // Some GPU may be given out by both.
  bool Overlap() const { return plugin > 0 && ours > 0 && plugin + ours > all; }
};
// `held`: what pods that run there have of the plugin; it may advertise less by now.
KubeGpuCounts GpuCountsOf(const KubeNode& node, std::int64_t held = 0);

// What an admin is told of a node where they overlap and no taint keeps other pods away; empty:
// all is well.
std::string WarningOfStock(const KubeNode& node);

// Which pod may have any of the node's GPUs by the device plugin, with what to do; empty: none.
std::string WhoHasStock(KubeBook& book, const KubePods& pods, const KubeNode& node);

}  // namespace sharewell::engine
