// KubeTaken: what of the nodes somebody else has: GPUs of nodes that take no new pods or may be
// given out by NVIDIA's device plugin (kube_stock.h), CPUs and memory of pods that are not ours.
#pragma once

#include <string>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_notices.h"
#include "engine/kubernetes/control/kube_pods.h"

namespace sharewell::engine {

class KubeTaken {
 public:
  KubeTaken(KubeBook& book, const KubePods& pods, KubeNotices& notices)
      : book_(book), pods_(pods), notices_(notices) {}

  // What has changed of it on touched nodes since the last look.
  void EmitGpus();
  void EmitHosts();

 private:
  void TellResidents(const KubeNodeHere& here, const std::string& who);

  KubeBook& book_;
  const KubePods& pods_;
  KubeNotices& notices_;
};

}  // namespace sharewell::engine
