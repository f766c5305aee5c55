// KubePods: keeps the pods of the book: ours, and of others' those that are bound, as they take
// room on our nodes.
#pragma once

#include <map>
#include <set>
#include <string>

#include "engine/kubernetes/control/kube_book.h"

namespace sharewell::engine {

class KubePods {
 public:
  explicit KubePods(KubeBook& book) : book_(book) {}

  void Put(KubePod pod);
  void Drop(const std::string& uid);
  bool IsOurs(const KubePod& pod) const;

  std::set<std::string>& joins() { return joins_; }  // ours that are new, by uid
  // Bound pods that are not over, by node.
  const std::map<std::string, std::set<std::string>>& on_node() const { return on_node_; }

 private:
  KubeBook& book_;
  std::set<std::string> joins_;
  std::map<std::string, std::set<std::string>> on_node_;
};

}  // namespace sharewell::engine
