#include "engine/kubernetes/control/kube_notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/kubernetes/pods/pod_reasons.h"

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
constexpr core::UnixMillis kStartMoves = 30'000;
constexpr std::size_t kMostEventsKept = 10'000;

const std::string& NoGpus() {
  static const std::string kWords =
      "no node that is up has GPUs for Sharewell; a node has when its annotation says which: "
      "`kubectl annotate node NAME sharewell.io/gpus='H200 GPU-8f2a... GPU-77aa...'`";
  return kWords;
}

}  // namespace

// Users of Kubernetes do not know our numbers.
std::string KubeNotices::InNames(const std::string& words) {
  KubeNames names;
  names.pod_of = [&](std::int64_t job) {
    const auto found = book_.groups().find(job);
    return found == book_.groups().end() ? std::string() : found->second.name;
  };
  names.gpu = [&](int index) -> std::string {
    for (const auto& [name, here] : book_.nodes()) {
      for (const core::GivenGpu& gpu : here.node.gpus) {
        if (gpu.index == index) return fmt::format("{} of node {}", gpu.uuid, name);
      }
    }
    return {};
  };
  return InKubeWords(words, names);
}

void KubeNotices::Put(std::int64_t job, const std::string& words) {
  const auto found = book_.groups().find(job);
  if (found == book_.groups().end()) return;
  found->second.waits = InNames(words);
  book_.to_write().insert(job);
}

void KubeNotices::PutLeaving(std::int64_t job, int evicted, const std::string& words) {
  const auto found = book_.groups().find(job);
  const auto run = book_.runs().find(job);
  if (found == book_.groups().end() || run == book_.runs().end()) return;
  const bool by_guard = evicted > std::exchange(found->second.evicted_before, evicted);
  const std::string said = InNames(words);
  if (std::exchange(run->second.leaves, said) == said) return;
  for (const KubeMember& member : run->second.members) {
    const KubePod* pod = book_.PodOf(member);
    if (pod == nullptr || pod->IsOver()) continue;
    Queue(*pod, {by_guard ? "Evicted" : "Preempted", said, true});
  }
}

void KubeNotices::PutStarts(const std::map<std::int64_t, core::UnixMillis>& starts) {
  const core::UnixMillis now = book_.options().wall();
  for (auto& [number, pod_group] : book_.groups()) {
    const auto found = starts.find(number);
    std::optional<core::UnixMillis> start;
    if (found != starts.end()) start = found->second;
    // Each change is a write for each pod: what people would not tell apart is none.
    if (start && pod_group.expected) {
      const core::UnixMillis apart =
          std::max(*start, *pod_group.expected) - std::min(*start, *pod_group.expected);
      if (apart < std::max(kStartMoves, (*start - now) / 10)) continue;
    }
    if (std::exchange(pod_group.expected, start) != start) book_.to_write().insert(number);
  }
}

// What was written a moment ago may not have been read back yet.
void KubeNotices::EndWait(const KubePod& pod) {
  const auto number = book_.group_of().find(pod.uid);
  const auto pod_group =
      number == book_.group_of().end() ? book_.groups().end() : book_.groups().find(number->second);
  const bool told = pod_group != book_.groups().end() && pod_group->second.expected;
  if (told || pod.annotations.contains(std::string(kKubeStart))) started_.insert(pod.uid);
}

// A pod that was started before its condition was written has its number in the annotation of its
// binding alone. A user may change that, but only of pods in a namespace of his.
std::vector<KubeLogPod> KubeNotices::LogPods(std::int64_t job,
                                             const std::string& name_space) const {
  std::vector<KubeLogPod> found;
  for (const auto& [uid, pod] : book_.pods()) {
    if (pod.name_space != name_space || pod.scheduler != book_.options().scheduler) continue;
    const auto told = pod.annotations.find("job");
    const bool its = pod.job ? *pod.job == job
                             : told != pod.annotations.end() && told->second == std::to_string(job);
    if (its) found.push_back({uid, pod.name_space, pod.name, pod.container, pod.IsOver()});
  }
  std::sort(found.begin(), found.end(),
            [](const KubeLogPod& a, const KubeLogPod& b) { return a.name < b.name; });
  return found;
}

void KubeNotices::Send(bool busy) {
  if (next_told_ && book_.now() < *next_told_) return;
  next_told_ = book_.now() + kTellPeopleEvery;
  busy_ = busy;
  SendWaits();
  SendStarted();
  SendEvents();
}

void KubeNotices::Queue(const KubePod& pod, const KubeEventWords& words) {
  const std::string key = pod.uid + " " + words.reason;
  // They are for people, who would not read so many, nor what is no longer so.
  if (!events_.contains(key)) {
    if (events_.size() >= kMostEventsKept) return;
    event_turns_.push_back(key);
  }
  events_[key] = {pod.uid,
                  EventRequest(pod, words, book_.options().scheduler, book_.options().wall())};
}

void KubeNotices::SendStarted() {
  const std::size_t most = busy_ ? kMostWordsBesides : kMostWordsAtOnce;
  for (std::size_t count = 0; count < most && !started_.empty();) {
    const std::string uid = *started_.begin();
    started_.erase(started_.begin());
    const auto pod = book_.pods().find(uid);
    if (pod == book_.pods().end() || pod->second.IsOver()) continue;
    ++count;
    outbox_.Put(StartedRequest(pod->second), [this, uid](const auto&, const auto& answer) {
      if (!answer || answer->status >= 429) started_.insert(uid);
    });
  }
}

void KubeNotices::SendEvents() {
  const std::size_t most = busy_ ? kMostEventsBesides : kMostEventsAtOnce;
  for (std::size_t count = 0; count < most && !event_turns_.empty();) {
    auto event = events_.extract(event_turns_.front());
    event_turns_.pop_front();
    // Nobody would look there any more.
    if (!book_.pods().contains(event.mapped().uid)) continue;
    outbox_.Put(std::move(event.mapped().request));
    ++outbox_.written().events;
    ++count;
  }
}

// Some node has a GPU that may be given out once it is free.
bool KubeNotices::HasGpus() {
  const auto& nodes = book_.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& one) {
    const KubeNodeHere& here = one.second;
    return here.told_up && here.unlisted.size() < here.node.gpus.size();
  });
}

// What the service says of it, as `kubectl describe pod` shows it.
void KubeNotices::SendWaits() {
  std::size_t count = 0;
  const bool has_gpus = HasGpus();
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
    const std::string& words = has_gpus || pod_group.words.gpus == 0 ? pod_group.waits : NoGpus();
    const KubeWaitWords wait{number, words, pod_group.known, pod_group.expected};
    for (const std::string& uid : pod_group.members) {
      const auto pod = book_.pods().find(uid);
      if (pod == book_.pods().end() || !pod->second.node.empty()) continue;
      if (ShowsWait(pod->second, wait)) continue;
      ++count;
      outbox_.Put(WaitsRequest(pod->second, wait, book_.options().wall()),
                  [this, number](const auto&, const auto& answer) {
                    const auto written = book_.groups().find(number);
                    if (written == book_.groups().end()) return;
                    written->second.written_at = book_.now();
                    if (answer && answer->status < 300) ++outbox_.written().conditions;
                    if (!answer || answer->status >= 429) book_.to_write().insert(number);
                  });
      const bool due = !pod_group.event_at || book_.now() >= *pod_group.event_at + kEventEvery;
      if (pod_group.event_words == words || !due) continue;
      pod_group.event_words = words;
      pod_group.event_at = book_.now();
      Queue(pod->second, {"Waiting", words, true});
    }
    done.push_back(number);
  }
  for (const std::int64_t number : done) book_.to_write().erase(number);
}

}  // namespace sharewell::engine
