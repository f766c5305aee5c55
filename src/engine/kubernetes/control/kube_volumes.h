// KubeVolumes: the volumes that pods of ours may use, and where these tie them to.
#pragma once

#include <map>
#include <span>
#include <string>

#include "engine/kubernetes/api/reflector.h"
#include "engine/kubernetes/control/kube_book.h"

namespace sharewell::engine {

class KubeVolumes {
 public:
  explicit KubeVolumes(KubeBook& book) : book_(book) {}

  void HandleClaims(std::span<const KubeChange> changes);
  void Handle(std::span<const KubeChange> changes);
  // Why it cannot start yet, in words; empty: not for its volumes.
  std::string WhyWait(const KubePod& pod) const;
  bool Allow(const KubePod& pod, const KubeNode& node) const;

 private:
  KubeBook& book_;
  std::map<std::string, KubeVolumeClaim> volume_claims_;  // by "NAMESPACE/NAME"
  std::map<std::string, KubeVolume> volumes_;
};

}  // namespace sharewell::engine
