#include "engine/kubernetes/control/kube_volumes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_fit.h"

namespace sharewell::engine {

void KubeVolumes::HandleClaims(std::span<const KubeChange> changes) {
  for (const KubeChange& change : changes) {
    ++book_.terms_version();
    volume_claims_.erase(change.key);
    auto claim = ParseKubeVolumeClaim(change.json);
    if (change.kind == KubeChange::Kind::kPut && claim) volume_claims_[change.key] = *claim;
  }
}

void KubeVolumes::Handle(std::span<const KubeChange> changes) {
  for (const KubeChange& change : changes) {
    ++book_.terms_version();
    volumes_.erase(change.key);
    auto volume = ParseKubeVolume(change.json);
    if (change.kind == KubeChange::Kind::kPut && volume) volumes_[change.key] = *volume;
  }
}

std::string KubeVolumes::WhyWait(const KubePod& pod) const {
  for (const std::string& name : pod.claims) {
    const auto claim = volume_claims_.find(pod.name_space + "/" + name);
    if (claim == volume_claims_.end()) {
      return fmt::format("waits for its volume claim {}, which is not there", core::Quoted(name));
    }
    if (claim->second.one_pod) {
      return fmt::format(
          "Sharewell cannot judge the access mode ReadWriteOncePod of its volume claim {}, so it "
          "never binds such a pod; use ReadWriteOnce or another schedulerName",
          core::Quoted(name));
    }
    if (claim->second.volume.empty() || !volumes_.contains(claim->second.volume)) {
      return fmt::format(
          "waits until its volume claim {} is bound (spec.volumes.persistentVolumeClaim): "
          "Sharewell "
          "does not choose volumes, so a claim with WaitForFirstConsumer has to be bound before",
          core::Quoted(name));
    }
  }
  return {};
}

bool KubeVolumes::Allow(const KubePod& pod, const KubeNode& node) const {
  return std::all_of(pod.claims.begin(), pod.claims.end(), [&](const std::string& name) {
    const auto claim = volume_claims_.find(pod.name_space + "/" + name);
    if (claim == volume_claims_.end()) return false;
    const auto volume = volumes_.find(claim->second.volume);
    return volume != volumes_.end() &&
           (volume->second.affinity.empty() || AnyTermHolds(volume->second.affinity, node));
  });
}

}  // namespace sharewell::engine
