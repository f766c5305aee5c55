#include "server/learn/known_steps.h"

#include <cmath>

namespace sharewell::server {
namespace {

// Over what the runs of a script's last steps took: this one may be of another step.
constexpr core::Ratio kOtherStep = 1.5;
// One that is off by more is another program, not an error.
constexpr double kMostOff = 10;

KeyDigest StepKey(const core::Told& told) { return DigestOf("step " + told.fingerprint); }
KeyDigest ModelKey(const core::Told& told) { return DigestOf("model " + told.model_fingerprint); }

double LogRatio(const std::optional<double>& said, const std::optional<double>& was) {
  if (!said || !was || *said <= 0 || *was <= 0) return 0;
  return std::log(std::clamp(*was / *said, 1 / kMostOff, kMostOff));
}

template <class Figure>
std::optional<double> FigureOf(const std::optional<Figure>& figure) {
  return figure ? std::optional(figure->value) : std::nullopt;
}

bool IsMeasured(const core::Needs& needs) {
  return needs.sources.busy == core::Source::kObserved && needs.profile.busy;
}

}  // namespace

StepLabels LabelsOf(const core::Submission& submission) {
  StepLabels labels;
  labels.command = DigestOf("command " + core::WorkloadKey(submission));
  if (submission.script.empty()) return labels;
  std::string script = "script " + std::to_string(submission.gpus) + "x";
  for (const std::string* part : {&submission.image, &submission.folder, &submission.script}) {
    script += '\0';
    script += *part;
  }
  labels.script = DigestOf(script);
  return labels;
}

void KnownSteps::Meet(const std::string& user, const StepLabels& labels, const core::Told& told) {
  if (told.fingerprint.empty()) return;
  const KeyDigest step = StepKey(told);
  const auto meet = [&](const KeyDigest& label) {
    Last& last = last_.At(user, label);
    std::erase(last.steps, step);
    last.steps.insert(last.steps.begin(), step);
    if (last.steps.size() > kLastSteps) last.steps.pop_back();
    last.predicted = told.predicted;
  };
  meet(labels.command);
  if (labels.script) meet(*labels.script);
}

void KnownSteps::Learn(const std::string& user, const core::Told& told, std::int64_t job,
                       const core::Profile& seen, const RunMemory::Times& times) {
  if (told.fingerprint.empty()) return;
  runs_.Add(user, StepKey(told), job, seen, times);
  if (!told.predicted || told.predicted->retrained || told.model_fingerprint.empty() ||
      !seen.busy) {
    return;
  }
  const core::Profile& said = told.predicted->profile;
  errors_.At(user, ModelKey(told)) = {
      LogRatio(said.busy, seen.busy),
      LogRatio(FigureOf(said.gpu_memory), FigureOf(seen.gpu_memory)),
      LogRatio(said.cpu_cores, seen.cpu_cores)};
}

std::optional<core::Needs> KnownSteps::NeedsOf(const std::string& user,
                                               const core::Told& told) const {
  if (told.fingerprint.empty()) return std::nullopt;
  auto needs = runs_.NeedsOf(user, StepKey(told));
  if (needs) needs->from += ", which is recognised by the operators of its step";
  return needs;
}

std::optional<core::Needs> KnownSteps::OthersNeeds(const std::string& user,
                                                   const core::Told& told) const {
  if (told.fingerprint.empty()) return std::nullopt;
  auto needs = runs_.OthersNeeds(user, StepKey(told));
  if (!needs || !IsMeasured(*needs)) return std::nullopt;
  needs->from += ", which are recognised by the operators of their step";
  return needs;
}

std::optional<core::Needs> KnownSteps::NeedsOfScript(const std::string& user,
                                                     const KeyDigest& script) const {
  const Last* last = last_.Find(user, script);
  if (last == nullptr) return std::nullopt;
  std::optional<core::Needs> needs;
  for (const KeyDigest& step : last->steps) {
    const auto of_step = runs_.NeedsOf(user, step);
    if (!of_step || !IsMeasured(*of_step)) continue;
    if (!needs) {
      needs = of_step;
      continue;
    }
    // Too little memory or too few cores is what harms: of those the most of its last steps.
    const auto raise = [](auto& figure, const auto& least) {
      if (least && (!figure || *figure < *least)) figure = least;
    };
    raise(needs->gpu_memory_upper, of_step->gpu_memory_upper);
    raise(needs->cores_upper, of_step->cores_upper);
  }
  if (!needs) needs = last->predicted;
  if (!needs) return std::nullopt;
  // That this run is the same is a guess, and nobody is judged by a guess.
  needs->sources = core::Sources::All(core::Source::kPredicted);
  needs->sources.pace = core::Source::kAssumed;
  needs->guessed = true;
  needs->profile.steps_per_second.reset();
  if (needs->gpu_memory_upper) needs->gpu_memory_upper = *needs->gpu_memory_upper * kOtherStep;
  if (needs->cores_upper) needs->cores_upper = *needs->cores_upper * kOtherStep;
  needs->from =
      "the last run of the same script, with wider bounds until it has told its own step: " +
      needs->from;
  return needs;
}

bool KnownSteps::IsAnother(const std::string& user, const KeyDigest& command,
                           const core::Told& told) const {
  const Last* last = last_.Find(user, command);
  return last != nullptr && !last->steps.empty() && !(last->steps.front() == StepKey(told));
}

bool KnownSteps::CorrectByModel(const std::string& user, const core::Told& told,
                                core::Needs& predicted) const {
  if (told.model_fingerprint.empty()) return false;
  const Errors* errors = errors_.Find(user, ModelKey(told));
  if (errors == nullptr) return false;
  core::Profile& p = predicted.profile;
  for (auto* share : {&p.busy, &p.sm, &p.dram}) {
    if (*share) *share = std::min(1.0, **share * std::exp(errors->busy));
  }
  for (auto* bytes : {&p.gpu_memory, &predicted.gpu_memory_upper}) {
    if (*bytes) *bytes = **bytes * std::exp(errors->memory);
  }
  for (auto* figure : {&p.cpu_cores, &predicted.cores_upper}) {
    if (*figure) *figure = **figure * std::exp(errors->cores);
  }
  predicted.from += ", corrected by what the same model was measured to need at another batch";
  return true;
}

void KnownSteps::Forget(const std::string& user) {
  runs_.Forget(user);
  last_.Forget(user);
  errors_.Forget(user);
}

}  // namespace sharewell::server
