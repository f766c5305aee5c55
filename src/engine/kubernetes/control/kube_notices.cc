#include "engine/kubernetes/control/kube_notices.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sharewell::engine {

using core::Seconds;

namespace {

// Conditions and Events are for people: what places pods does not wait behind many of them.
constexpr Seconds kTellPeopleEvery(0.25);
// Words are bounded for each look, and fewer beside starts: each is a write that a start would wait
// behind.
constexpr std::size_t kMostWordsAtOnce = 50;
constexpr std::size_t kMostWordsBesides = 5;  // pods that are being started
constexpr Seconds kEventEvery(60);
constexpr std::size_t kMostEventsAtOnce = 20;
constexpr std::size_t kMostEventsBesides = 5;  // pods that are being started
constexpr std::size_t kMostEventsKept = 10'000;

}  // namespace

void KubeNotices::Put(std::int64_t job, std::string words) {
  const auto found = book_.groups().find(job);
  if (found == book_.groups().end()) return;
  found->second.waits = std::move(words);
  book_.to_write().insert(job);
}

void KubeNotices::Send(bool busy) {
  if (next_told_ && book_.now() < *next_told_) return;
  next_told_ = book_.now() + kTellPeopleEvery;
  busy_ = busy;
  SendWaits();
  SendEvents();
}

void KubeNotices::Queue(const KubePod& pod, const KubeEventWords& words) {
  // They are for people, who would not read so many, nor what is no longer so.
  if (!events_.contains(pod.uid)) {
    if (events_.size() >= kMostEventsKept) return;
    event_turns_.push_back(pod.uid);
  }
  events_[pod.uid] = EventRequest(pod, words, book_.options().scheduler, book_.options().wall());
}

void KubeNotices::SendEvents() {
  const std::size_t most = busy_ ? kMostEventsBesides : kMostEventsAtOnce;
  for (std::size_t count = 0; count < most && !event_turns_.empty();) {
    const auto event = events_.extract(event_turns_.front());
    event_turns_.pop_front();
    if (!book_.pods().contains(event.key())) continue;  // nobody would look there any more
    outbox_.Put(std::move(event.mapped()));
    ++outbox_.written().events;
    ++count;
  }
}

// What the service says of it, as `kubectl describe pod` shows it.
void KubeNotices::SendWaits() {
  std::size_t count = 0;
  std::vector<std::int64_t> done;
  // Where the last Cycle left off: the words of many change with every decision.
  const auto first = book_.to_write().lower_bound(next_to_write_);
  std::vector<std::int64_t> turns(first, book_.to_write().end());
  turns.insert(turns.end(), book_.to_write().begin(), first);
  for (const std::int64_t number : turns) {
    if (count >= (busy_ ? kMostWordsBesides : kMostWordsAtOnce)) {
      next_to_write_ = number;
      break;
    }
    const auto found = book_.groups().find(number);
    const auto run = book_.runs().find(number);
    if (found == book_.groups().end() ||
        (run != book_.runs().end() && run->second.step != KubeRun::Step::kPlace)) {
      done.push_back(number);
      continue;
    }
    KubePodGroup& pod_group = found->second;
    if (pod_group.waits.empty()) continue;  // it was not decided on yet
    if (pod_group.written_at && book_.now() < *pod_group.written_at + book_.options().words_every)
      continue;
    for (const std::string& uid : pod_group.members) {
      const auto pod = book_.pods().find(uid);
      if (pod == book_.pods().end() || !pod->second.node.empty()) continue;
      if (pod->second.told == pod_group.waits && pod->second.job == number) continue;
      ++count;
      outbox_.Put(WaitsRequest(pod->second, number, pod_group.waits, book_.options().wall()),
                  [this, number](const auto&, const auto& answer) {
                    const auto written = book_.groups().find(number);
                    if (written == book_.groups().end()) return;
                    written->second.written_at = book_.now();
                    if (answer && answer->status < 300) ++outbox_.written().conditions;
                    if (!answer || answer->status >= 429) book_.to_write().insert(number);
                  });
      const bool due = !pod_group.event_at || book_.now() >= *pod_group.event_at + kEventEvery;
      if (pod_group.event_words == pod_group.waits || !due) continue;
      pod_group.event_words = pod_group.waits;
      pod_group.event_at = book_.now();
      Queue(pod->second, {"FailedScheduling", pod_group.waits, true});
    }
    done.push_back(number);
  }
  for (const std::int64_t number : done) book_.to_write().erase(number);
}

}  // namespace sharewell::engine
