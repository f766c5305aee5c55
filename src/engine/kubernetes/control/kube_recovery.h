// What an earlier server has begun, as the cluster has it.
#pragma once

#include <vector>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_pods.h"

namespace sharewell::engine {

// By the claims, which users cannot write; the runs are in the book then. Pods that are bound
// without a claim are strangers.
std::vector<RunRequest> RecoverKubeRuns(KubeBook& book, KubePods& pods);

}  // namespace sharewell::engine
