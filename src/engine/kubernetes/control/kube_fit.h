// Whether a pod may run on a node: node selector, required affinity to nodes, taints, and what the
// node has to give. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/kubernetes/api/kube_records.h"

namespace sharewell::engine {

// A node with the taint sharewell.io/gpus (NoSchedule) keeps its GPUs to Sharewell: it is for pods
// of other schedulers, and ours need not tolerate it.
inline constexpr std::string_view kKubeTaint = "sharewell.io/gpus";
bool IsTaintForOthers(const KubeTaint& taint);

// One of the terms holds for the node. No terms: none does.
bool AnyTermHolds(const std::vector<KubeTerm>& terms, const KubeNode& node);

// Why it may not, in words: "its nodeSelector wants disk=ssd"; empty: it may. What is free there is
// not looked at, only what there is.
std::string WhyNotOn(const KubePod& pod, const KubeNode& node);

// What is short, in words; empty: it fits beside `used`.
std::string WhyNoRoom(const KubeAmounts& wanted, const KubeAmounts& used, const KubeNode& node);

// Pods with the same shape may run on the same nodes.
std::string ShapeOf(const KubePod& pod);

}  // namespace sharewell::engine
