// KubeTerms: what keeps a job of pods waiting, and where it may start.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_volumes.h"

namespace sharewell::engine {

class KubeTerms {
 public:
  KubeTerms(KubeBook& book, const KubeVolumes& volumes) : book_(book), volumes_(volumes) {}

  // In words; empty: nothing but a place.
  std::string WhyItWaits(const KubePodGroup& pod_group) const;
  StartTerms Of(const KubePodGroup& pod_group);

 private:
  const StartTerms& NodesFor(const KubePod& pod);

  KubeBook& book_;
  const KubeVolumes& volumes_;
  std::map<std::string, StartTerms> shapes_;  // where pods of one shape may run
  std::uint64_t shapes_version_ = 0;
};

}  // namespace sharewell::engine
