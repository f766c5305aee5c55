#include "engine/kubernetes/control/kube_control.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/kubernetes/control/kube_recovery.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kLookAnyway(5);
constexpr Seconds kLookSoon(0.25);

// Whether some pod is on its way to its place.
bool StartsPods(const std::map<std::int64_t, KubeRun>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const auto& one) {
    return one.second.step < KubeRun::Step::kBound && one.second.wanted == WantedRun::kNothing;
  });
}

}  // namespace

KubeControl::KubeControl(KubeControlOptions options)
    : book_(std::move(options)),
      outbox_(book_.options()),
      pods_(book_),
      groups_(book_, pods_),
      volumes_(book_),
      terms_(book_, volumes_),
      nodes_(book_),
      ends_(book_, groups_, terms_),
      waiting_(book_, groups_, terms_, ends_),
      claimer_(book_, outbox_, ends_),
      placer_(book_, {outbox_, pods_, volumes_, terms_, ends_, claimer_}),
      notices_(book_, outbox_),
      taken_(book_, pods_, notices_),
      binder_(book_, outbox_, ends_, claimer_, notices_),
      steps_(book_, {outbox_, nodes_, ends_, binder_, notices_}) {}

void KubeControl::HandlePods(std::span<const KubeChange> changes) {
  for (const KubeChange& change : changes) {
    if (change.kind == KubeChange::Kind::kGone) {
      pods_.Drop(change.uid);
      continue;
    }
    auto pod = ParseKubePod(change.json);
    if (pod) {
      pods_.Put(std::move(*pod));
    } else {
      book_.Remark(pod.error().message);
    }
  }
}

void KubeControl::HandleNodes(std::span<const KubeChange> changes) {
  for (const KubeChange& change : changes) {
    if (change.kind == KubeChange::Kind::kGone) {
      nodes_.HandleGone(change.key);
      continue;
    }
    auto node = ParseKubeNode(change.json);
    if (node) {
      nodes_.Handle(std::move(*node));
    } else {
      book_.Remark(node.error().message);
    }
  }
}

std::vector<RunnerNode> KubeControl::Open(Seconds now) {
  book_.Begin(now, opening_);
  nodes_.EmitWatched();
  nodes_.EmitChanges(true);
  return Nodes();
}

std::vector<RunRequest> KubeControl::Recover() { return RecoverKubeRuns(book_, pods_); }

Seconds KubeControl::Cycle(Seconds now, std::vector<RunEvent>& out) {
  book_.Begin(now, out);
  const bool had_problem = !problem_.empty();
  outbox_.Begin();
  groups_.Begin();
  if (current_) {
    Look();
    problem_ = outbox_.problem();
  }
  if (!outside_problem_.empty()) problem_ = outside_problem_;
  if (problem_.empty()) problem_ = outbox_.right_problem();
  if (problem_.empty() && !leads_) problem_ = "another server leads; this one waits";
  if (problem_.empty() == had_problem) {
    const std::string said = problem_.empty() ? "the API server answers again" : problem_;
    book_.options().log(said);
    book_.Emit(RunnerNote{said});
  }
  return NextDue();
}

void KubeControl::Look() {
  waiting_.EmitExpected();
  nodes_.EmitWatched();
  nodes_.EmitChanges(false);
  steps_.Advance();
  steps_.EmitSteps();
  groups_.JoinAll();  // who waited for a run to end
  waiting_.EmitWaiting();
  if (leads_) {
    groups_.AskSizes(outbox_);
    placer_.Place();
    steps_.SendStops();
    steps_.SendCancels();
    claimer_.Send();
    binder_.Send();
    notices_.Send(!outbox_.empty() || StartsPods(book_.runs()));
    outbox_.Send();
  }
  taken_.EmitGpus();
  taken_.EmitHosts();
  book_.AnswerList();
}

Seconds KubeControl::NextDue() {
  const Seconds now = book_.now();
  const auto& runs = book_.runs();
  if (outbox_.has_more() && !outbox_.failed()) return now;
  const bool awaited = std::any_of(runs.begin(), runs.end(), [](const auto& one) {
    return one.second.step < KubeRun::Step::kRunning || one.second.wanted != WantedRun::kNothing;
  });
  const bool more = outbox_.failed() || groups_.lacks_numbers() || !book_.to_write().empty() ||
                    notices_.has_more();
  if (awaited || more || !book_.dirty().empty()) return now + kLookSoon;
  const KubeControlOptions& options = book_.options();
  const bool asks = options.watched || (options.steps && !runs.empty());
  return now + (asks ? options.steps_every : kLookAnyway);
}

}  // namespace sharewell::engine
