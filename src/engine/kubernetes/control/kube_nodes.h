// KubeNodes: nodes as ours: which can be used and with which GPUs, which are up, and where an agent
// is heard.
//
// Once a node is told to the service it has as many GPUs as then, for as long as this server runs.
// One that its annotation lists no more takes no new pods, and what runs there goes on; another
// that comes has its place.
#pragma once

#include <optional>
#include <string>

#include "engine/kubernetes/control/kube_book.h"

namespace sharewell::engine {

class KubeNodes {
 public:
  explicit KubeNodes(KubeBook& book) : book_(book) {}

  void Handle(KubeNode node);
  void HandleGone(const std::string& name);
  // Nodes that came and went. `first`: the service reads those that are up by itself.
  void EmitChanges(bool first);
  // Where an agent (`sharewell monitor`) is heard, and where none is.
  void EmitWatched();
  bool IsLost(const std::string& node) const;

 private:
  void ReadGpus(KubeNodeHere& here, const std::string& words);
  void PutGpus(KubeNodeHere& here, const KubeGpus& gpus, const KnownGpuModel& model);
  void ChangeGpus(KubeNodeHere& here, const KubeGpus& gpus, const KnownGpuModel* model);
  void ReadClaims(KubeNodeHere& here, const KubeNode& node);
  void TellAnew(KubeNodeHere& here);

  KubeBook& book_;
  std::optional<core::Seconds> watched_asked_;
};

}  // namespace sharewell::engine
