// KubeNotices: what Kubernetes is told of a job in words, for people: why its pods wait, as a
// condition of each, and Events about them. They never keep a start waiting.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "engine/kubernetes/api/kube_writes.h"
#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_outbox.h"

namespace sharewell::engine {

class KubeNotices {
 public:
  KubeNotices(KubeBook& book, KubeOutbox& outbox) : book_(book), outbox_(outbox) {}

  // What the service says of a job that waits.
  void Put(std::int64_t job, std::string words);
  void Queue(const KubePod& pod, const KubeEventWords& words);
  // Some of what is to be told. `busy`: pods are being started, and it is little.
  void Send(bool busy);
  bool has_events() const { return !event_turns_.empty(); }

 private:
  void SendWaits();
  void SendEvents();

  KubeBook& book_;
  KubeOutbox& outbox_;
  std::map<std::string, KubeRequest> events_;  // to be written, by uid: the newest of each pod
  std::deque<std::string> event_turns_;        // their uids
  std::int64_t next_to_write_ = 0;             // whose turn it is
  std::optional<core::Seconds> next_told_;
  bool busy_ = false;
};

}  // namespace sharewell::engine
