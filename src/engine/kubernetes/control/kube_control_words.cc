// What Kubernetes is told of a job in words: why its pods wait, events about them, and that pods of
// a job that is over may go.
//
// Words are bounded for each look, and fewer beside starts: they are for people, and each is a
// write that a start would wait behind.
#include <algorithm>
#include <utility>

#include "engine/kubernetes/control/kube_control.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr std::size_t kMostWordsAtOnce = 50;
constexpr std::size_t kMostWordsBesides = 5;  // pods that are being started
constexpr std::size_t kMostDeletesAtOnce = 100;
constexpr Seconds kEventEvery(60);
constexpr std::size_t kMostEventsAtOnce = 20;
constexpr std::size_t kMostEventsBesides = 5;  // pods that are being started
constexpr std::size_t kMostEventsKept = 10'000;

}  // namespace

void KubeControl::QueueEvent(const KubePod& pod, const KubeEventWords& words) {
  // They are for people, who would not read so many, nor what is no longer so.
  if (!events_.contains(pod.uid)) {
    if (events_.size() >= kMostEventsKept) return;
    event_turns_.push_back(pod.uid);
  }
  events_[pod.uid] = EventRequest(pod, words, options_.scheduler, options_.wall());
}

void KubeControl::SendEvents() {
  const std::size_t most = busy_ ? kMostEventsBesides : kMostEventsAtOnce;
  for (std::size_t count = 0; count < most && !event_turns_.empty();) {
    const auto event = events_.extract(event_turns_.front());
    event_turns_.pop_front();
    if (!pods_.contains(event.key())) continue;  // nobody would look there any more
    Put(std::move(event.mapped()));
    ++written_.events;
    ++count;
  }
}

// What the service says of it, as `kubectl describe pod` shows it.
void KubeControl::SendWaits() {
  std::size_t count = 0;
  std::vector<std::int64_t> done;
  // Where the last Cycle left off: the words of many change with every decision.
  const auto first = to_write_.lower_bound(next_to_write_);
  std::vector<std::int64_t> turns(first, to_write_.end());
  turns.insert(turns.end(), to_write_.begin(), first);
  for (const std::int64_t number : turns) {
    if (count >= (busy_ ? kMostWordsBesides : kMostWordsAtOnce)) {
      next_to_write_ = number;
      break;
    }
    const auto found = pod_groups_.find(number);
    const auto run = runs_.find(number);
    if (found == pod_groups_.end() || (run != runs_.end() && run->second.step != Step::kPlace)) {
      done.push_back(number);
      continue;
    }
    PodGroup& pod_group = found->second;
    if (pod_group.waits.empty()) continue;  // it was not decided on yet
    if (pod_group.written_at && now_ < *pod_group.written_at + options_.words_every) continue;
    for (const std::string& uid : pod_group.members) {
      const auto pod = pods_.find(uid);
      if (pod == pods_.end() || !pod->second.node.empty()) continue;
      if (pod->second.told == pod_group.waits && pod->second.job == number) continue;
      ++count;
      Put(WaitsRequest(pod->second, number, pod_group.waits, options_.wall()),
          [this, number](const auto&, const auto& answer) {
            const auto written = pod_groups_.find(number);
            if (written == pod_groups_.end()) return;
            written->second.written_at = now_;
            if (answer && answer->status < 300) ++written_.conditions;
            if (!answer || answer->status >= 429) to_write_.insert(number);
          });
      const bool due = !pod_group.event_at || now_ >= *pod_group.event_at + kEventEvery;
      if (pod_group.event_words == pod_group.waits || !due) continue;
      pod_group.event_words = pod_group.waits;
      pod_group.event_at = now_;
      QueueEvent(pod->second, {"FailedScheduling", pod_group.waits, true});
    }
    done.push_back(number);
  }
  for (const std::int64_t number : done) to_write_.erase(number);
}

// Jobs that are over and still have a pod that waits.
void KubeControl::SendCancels() {
  std::size_t count = 0;
  for (auto job = cancel_waiting_.begin(); job != cancel_waiting_.end();) {
    const auto pod_group = pod_groups_.find(*job);
    if (pod_group == pod_groups_.end() || runs_.contains(*job)) {
      job = cancel_waiting_.erase(job);
      continue;
    }
    const auto asked = cancel_asked_.find(*job);
    const bool due = asked == cancel_asked_.end() || now_ >= asked->second + options_.again_after;
    if (due && count < kMostDeletesAtOnce) {
      cancel_asked_[*job] = now_;
      for (const std::string& uid : pod_group->second.members) {
        const auto pod = pods_.find(uid);
        // One that somebody bound meanwhile is not ours to delete.
        if (pod == pods_.end() || !pod->second.node.empty()) continue;
        Put(DeleteRequest(pod->second));
        ++written_.deletes;
        ++count;
      }
    }
    ++job;
  }
}

}  // namespace sharewell::engine
