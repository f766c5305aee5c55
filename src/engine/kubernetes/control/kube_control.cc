#include "engine/kubernetes/control/kube_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kLookAnyway(5);
constexpr Seconds kLookSoon(0.25);
// Conditions and Events are for people: what places pods does not wait behind many of them.
constexpr Seconds kTellPeopleEvery(0.25);

}  // namespace

KubeControl::KubeControl(KubeControlOptions options)
    : options_(std::move(options)),
      next_number_(std::max<std::int64_t>(options_.first_number, 1)) {}

void KubeControl::HandlePods(std::span<const KubeChange> changes) {
  for (const KubeChange& change : changes) {
    if (change.kind == KubeChange::Kind::kGone) {
      DropPod(change.uid);
      continue;
    }
    auto pod = ParseKubePod(change.json);
    if (pod) {
      PutPod(std::move(*pod));
    } else {
      Remark(pod.error().message);
    }
  }
}

void KubeControl::HandleNodes(std::span<const KubeChange> changes) {
  for (const KubeChange& change : changes) {
    if (change.kind == KubeChange::Kind::kGone) {
      const auto here = nodes_.find(change.key);
      if (here != nodes_.end()) here->second.there = false;
      continue;
    }
    auto node = ParseKubeNode(change.json);
    if (node) {
      HandleNode(std::move(*node));
    } else {
      Remark(node.error().message);
    }
  }
}

void KubeControl::TakeVolumeClaims(std::span<const KubeChange> changes) {
  for (const KubeChange& change : changes) {
    ++terms_version_;
    volume_claims_.erase(change.key);
    auto claim = ParseKubeVolumeClaim(change.json);
    if (change.kind == KubeChange::Kind::kPut && claim) volume_claims_[change.key] = *claim;
  }
}

void KubeControl::TakeVolumes(std::span<const KubeChange> changes) {
  for (const KubeChange& change : changes) {
    ++terms_version_;
    volumes_.erase(change.key);
    auto volume = ParseKubeVolume(change.json);
    if (change.kind == KubeChange::Kind::kPut && volume) volumes_[change.key] = *volume;
  }
}

void KubeControl::AskAgain(Run& run) {
  if (run.step < Step::kBound) return;  // its binding may be under way
  for (Member& member : run.members) member.asked.reset();
}

void KubeControl::Emit(std::int64_t job, std::string words) {
  const auto found = pod_groups_.find(job);
  if (found == pod_groups_.end()) return;
  found->second.waits = std::move(words);
  to_write_.insert(job);
}

void KubeControl::Put(KubeRequest request, TakeAnswer take) {
  writes_.push_back({std::move(request), std::move(take)});
}

// All at once, so that a Cycle waits for the API server once, whatever it has to say. A request
// that got no answer may have happened.
void KubeControl::SendWrites() {
  if (writes_.empty()) return;
  const std::vector<Write> writes = std::exchange(writes_, {});
  std::vector<KubeRequest> requests;
  requests.reserve(writes.size());
  for (const Write& write : writes) requests.push_back(write.request);
  const auto answers = options_.ask(requests);
  SHAREWELL_CHECK(answers.size() == requests.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) {
      if (!std::exchange(failed_, true)) problem_ = answers[i].error().message;
    } else {
      TakeComplaint(requests[i], *answers[i]);
    }
    if (writes[i].take) writes[i].take(requests[i], answers[i]);
  }
}

// Whether some pod is on its way to its place.
bool KubeControl::Starts() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const auto& one) {
    return one.second.step < Step::kBound && one.second.wanted == Wanted::kNothing;
  });
}

// What a next try will not mend is said once, and shown until it is over.
void KubeControl::TakeComplaint(const KubeRequest& request, const KubeAnswer& answer) {
  if (answer.status == 401 || answer.status == 403) {
    std::string words = RefusedInWords(request, answer);
    if (answer.status == 401) words = "the API server does not know who asks (401): " + words;
    if (words != right_problem_) options_.log(words);
    right_problem_ = std::move(words);
  } else if (answer.status < 300 && request.path.find("/events") == std::string::npos) {
    right_problem_.clear();
  } else if (answer.status >= 500 || answer.status == 429) {
    // A disruption budget says 429 too: it is told of the pod.
    if (answer.status >= 500 && !std::exchange(failed_, true)) {
      problem_ = RefusedInWords(request, answer);
    }
  }
}

Seconds KubeControl::Cycle(Seconds now, std::vector<RunEvent>& out) {
  now_ = now;
  out_ = &out;
  const std::string before = problem_;
  failed_ = more_ = no_numbers_ = false;
  problem_.clear();
  if (!current_) {
    problem_ = before;
  } else {
    EmitExpected();
    EmitWatched();
    EmitNodes(false);
    AdvanceRuns();
    EmitSteps();
    JoinAll();  // who waited for a run to end
    EmitWaiting();
    Place();
    if (leads_) {
      SendStops();
      SendCancels();
      SendClaims();
      SendBindings();
      if (!next_told_ || now_ >= *next_told_) {
        next_told_ = now_ + kTellPeopleEvery;
        busy_ = !writes_.empty() || Starts();
        SendWaits();
        SendEvents();
      }
      SendWrites();
    }
    EmitTaken();
    EmitHostTaken();
    AnswerList();
  }
  if (!outside_problem_.empty()) problem_ = outside_problem_;
  if (problem_.empty()) problem_ = right_problem_;
  if (problem_.empty() && !leads_) problem_ = "another server leads; this one waits";
  if (problem_.empty() != before.empty()) {
    const std::string said = problem_.empty() ? "the API server answers again" : problem_;
    options_.log(said);
    Emit(RunnerNote{said});
  }
  return NextDue();
}

Seconds KubeControl::NextDue() const {
  if (more_ && !failed_) return now_;
  const bool awaited = std::any_of(runs_.begin(), runs_.end(), [](const auto& one) {
    return one.second.step < Step::kRunning || one.second.wanted != Wanted::kNothing;
  });
  const bool more = failed_ || no_numbers_ || !to_write_.empty() || !event_turns_.empty();
  if (awaited || more || !dirty_.empty()) return now_ + kLookSoon;
  const bool asks = options_.watched || (options_.steps && !runs_.empty());
  return now_ + (asks ? options_.steps_every : kLookAnyway);
}

}  // namespace sharewell::engine
