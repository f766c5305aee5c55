// KubeTaken: what of the nodes somebody else has: GPUs of nodes that take no new pods or are given
// out by the stock device plugin, CPUs and memory of pods that are not ours.
#pragma once

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_pods.h"

namespace sharewell::engine {

class KubeTaken {
 public:
  KubeTaken(KubeBook& book, const KubePods& pods) : book_(book), pods_(pods) {}

  // What has changed of it on touched nodes since the last look.
  void EmitGpus();
  void EmitHosts();

 private:
  KubeBook& book_;
  const KubePods& pods_;
};

}  // namespace sharewell::engine
