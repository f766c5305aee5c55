// KubeWaiting: the jobs that wait in Kubernetes for us: tells the service of new ones, of changed
// terms, and of those that wait no more. A model that could not be predicted is tried again: its
// file may come later.
#pragma once

#include <cstdint>
#include <map>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_ends.h"
#include "engine/kubernetes/control/kube_pod_groups.h"
#include "engine/kubernetes/control/kube_terms.h"

namespace sharewell::engine {

class KubeWaiting {
 public:
  KubeWaiting(KubeBook& book, KubePodGroups& groups, KubeTerms& terms, KubeEnds& ends)
      : book_(book), groups_(groups), terms_(terms), ends_(ends) {}

  // Numbers that a store knows, and no pod has.
  void EmitExpected();
  void EmitWaiting();

 private:
  void EmitOne(KubePodGroup& pod_group);
  bool PutKnown(const KubePod& pod, KubePodGroup& pod_group, ForeignJob& job);
  void PredictAgain();

  KubeBook& book_;
  KubePodGroups& groups_;
  KubeTerms& terms_;
  KubeEnds& ends_;
  std::uint64_t told_version_ = 0;
  std::map<std::int64_t, core::Seconds> predict_at_;  // jobs whose model could not be predicted
};

}  // namespace sharewell::engine
