// KubeEnds: takes runs out of the book, and says how they ended and what becomes of their pods.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_pod_groups.h"
#include "engine/kubernetes/control/kube_terms.h"

namespace sharewell::engine {

class KubeEnds {
 public:
  KubeEnds(KubeBook& book, KubePodGroups& groups, KubeTerms& terms)
      : book_(book), groups_(groups), terms_(terms) {}

  // It was not started; its pods wait on. REQUIRES: the job has a run.
  void Refuse(std::int64_t job, std::string why);
  // Its pods are over or gone. REQUIRES: the job has a run.
  void End(std::int64_t job, RunEnd end);
  // It runs on without us. REQUIRES: the job has a run.
  void TakeOver(std::int64_t job, const std::string& how);
  // Of a run that is not bound: a pod was deleted, or bound by somebody else, who runs it then.
  bool LosesPod(std::int64_t job, const std::vector<std::string>& uids);
  // The job is no more ours to start; it is told once.
  void Withdraw(KubePodGroup& pod_group, RunId id, std::string why);

 private:
  void Free(const KubeMember& member);

  KubeBook& book_;
  KubePodGroups& groups_;
  KubeTerms& terms_;
};

}  // namespace sharewell::engine
