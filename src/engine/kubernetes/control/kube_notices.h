// KubeNotices: what Kubernetes is told of a job in words, for people: why its pods wait, as a
// condition of each, and Events about them. They never keep a start waiting. It also knows which
// pods' logs are a job's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/kubernetes/api/kube_logs.h"
#include "engine/kubernetes/api/kube_writes.h"
#include "engine/kubernetes/control/kube_book.h"
#include "engine/kubernetes/control/kube_outbox.h"

namespace sharewell::engine {

class KubeNotices {
 public:
  KubeNotices(KubeBook& book, KubeOutbox& outbox) : book_(book), outbox_(outbox) {}

  // What the service says of a job that waits.
  void Put(std::int64_t job, const std::string& words);
  // When jobs that wait should start, all that is known (ForeignQueue::ShowStarts).
  void PutStarts(const std::map<std::int64_t, core::UnixMillis>& starts);
  // That pod has its place: it waits no more.
  void EndWait(const KubePod& pod);
  // And of one that has to leave its place (ForeignQueue::ShowLeaving).
  void PutLeaving(std::int64_t job, int evicted, const std::string& words);
  // Whose log is that job's: its pods in its user's namespace, in the order of their names.
  std::vector<KubeLogPod> LogPods(std::int64_t job, const std::string& name_space) const;
  void Queue(const KubePod& pod, const KubeEventWords& words);
  // Some of what is to be told. `busy`: pods are being started, and it is little.
  void Send(bool busy);
  bool has_more() const { return !event_turns_.empty() || !started_.empty(); }

 private:
  struct Event {
    std::string uid;  // of its pod
    KubeRequest request;
  };
  std::string InNames(const std::string& words);
  bool HasGpus();
  void SendWaits();
  void SendEvents();
  void SendStarted();

  KubeBook& book_;
  KubeOutbox& outbox_;
  // To be written: of each pod the newest of each reason, by both.
  std::map<std::string, Event> events_;
  std::deque<std::string> event_turns_;  // their keys
  std::set<std::string> started_;        // uids of pods that still show when they should start
  std::int64_t next_to_write_ = 0;       // whose turn it is
  std::optional<core::Seconds> next_told_;
  bool busy_ = false;
};

}  // namespace sharewell::engine
