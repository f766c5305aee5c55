#include "server/live/advisor.h"

#include <fmt/format.h>

#include "engine/local/container.h"
#include "estimate/needs_estimate.h"
#include "estimate/seen_needs.h"
#include "server/learn/learning_rows.h"
#include "server/live/advisor_impl.h"
#include "server/live/fits_here.h"

namespace sharewell::server {
namespace {

using core::Needs;
using core::Submission;

constexpr std::size_t kMostWordsKept = 100;

// Others' runs may say that a job needs more memory than its user or its own graph says, never that
// it needs less: one that is put where it does not fit fails.
void NeverBelow(Needs& needs, const Needs& own) {
  const auto raise = [](auto& figure, const auto& least) {
    if (least && (!figure || *figure < *least)) figure = least;
  };
  raise(needs.profile.gpu_memory, own.profile.gpu_memory);
  raise(needs.gpu_memory_upper, estimate::MemoryUpper(own));
  raise(needs.profile.host_memory, own.profile.host_memory);
}

}  // namespace

void ServerAdvisor::Impl::Keep(const KeyDigest& key, const core::JobRecord& record) {
  auto profile = runs.RecordOf(record.user.name, key);
  if (!profile) return;
  profile->by_admin = record.user.admin;
  profile->name = core::DisplayName(record.asked);
  if (profile->profile.workload.name.empty()) profile->profile.workload.name = profile->name;
  profile->created = record.ended.value_or(record.submitted);
  const auto& command = record.asked.command;
  const auto words = static_cast<std::ptrdiff_t>(std::min(command.size(), kMostWordsKept));
  profile->command.assign(command.begin(), command.begin() + words);
  for (std::string& word : profile->command) word.resize(std::min<std::size_t>(word.size(), 4096));
  profile->environment = {{kKeyFact, TextOf(key)}};
  if (!record.gpus.empty()) profile->environment.emplace_back("gpu", record.gpus.front().model);
  profile->throughput_source = profile->profile.steps_per_second ? "progress file" : "none";
  profile->settled = true;
  profile->exit_code = record.exit_code;
  profile->notes = {fmt::format("measured while it ran; job {} was the last of {}", record.number,
                                profile->repeats)};
  if (const auto id = profiles.Save(*profile)) {
    runs.Kept(record.user.name, key, *id);
    named.Changed(*id, profile->name);
    kept.Add(record.user.name, *id, profile->created);
  } else {
    Log("the profile of job " + std::to_string(record.number) +
        " was not stored: " + id.error().message);
  }
}

ServerAdvisor::ServerAdvisor(std::unique_ptr<Impl> inside) : impl_(std::move(inside)) {}
ServerAdvisor::~ServerAdvisor() = default;

std::map<std::string, Lessons> ServerAdvisor::Taught() const {
  const platform::MutexLock lock(impl_->mutex);
  return impl_->taught;
}

void ServerAdvisor::Forget(const std::string& user) {
  const platform::MutexLock lock(impl_->mutex);
  impl_->forget.push_back(user);
  impl_->taught.erase(user);
}

core::Result<void> ServerAdvisor::Check(const core::Account& user, const Submission& submission) {
  impl_->ForgetNow();
  if (!submission.profile.empty()) {
    if (auto ok = impl_->named.Check(user.name, submission.profile); !ok) return ok;
  }
  if (!submission.image.empty()) {
    if (auto ok = engine::CheckImage(submission.image); !ok) return ok;
    if (impl_->options.check_images) RETURN_IF_ERROR(impl_->options.check_images());
  }
  return CheckFitsHere(submission, impl_->cluster);
}

Needs ServerAdvisor::NeedsOf(const core::Account& user, const Submission& submission) {
  impl_->ForgetNow();
  auto brought = impl_->Brought(user, submission);
  const auto [runs, by_others] = impl_->MeasuredOf(user, submission);
  // Measured here, on the job itself, stands before any prediction.
  const bool measured = runs && IsMeasured(*runs, submission);
  if (measured && (!brought || brought->sources.busy != core::Source::kObserved)) {
    Needs needs = *runs;
    if (brought) estimate::FillFrom(needs, *brought);
    if (brought && by_others) NeverBelow(needs, *brought);
    return needs;
  }
  if (brought) {
    if (runs) estimate::TakeObservedPace(*brought, *runs);
    if (runs) estimate::FillFrom(*brought, *runs);
    return *std::move(brought);
  }
  const auto script = LabelsOf(submission).script;
  if (auto likely = script ? impl_->steps.NeedsOfScript(user.name, *script) : std::nullopt) {
    if (runs) estimate::FillFrom(*likely, *runs);
    return *std::move(likely);
  }
  if (runs) {
    Needs needs = *runs;
    needs.sources.busy = core::Source::kAssumed;
    if (submission.gpus > 0) {
      needs.from += "; what it needs of a GPU was not measured, so it is assumed to fill one";
    }
    return needs;
  }
  Needs needs;
  needs.from = submission.gpus > 0 ? "nothing is known about it, so it is assumed to fill its GPU"
                                   : "nothing is known about it";
  return needs;
}

// Its own step says what it is, whatever its command was called; and what was measured of that step
// stands before what its operators are predicted to need.
Needs ServerAdvisor::NeedsTold(const core::JobRecord& record) {
  impl_->ForgetNow();
  const core::Told& told = *record.told;
  const std::string& user = record.user.name;
  const StepLabels labels = LabelsOf(record.asked);
  const bool another = impl_->steps.IsAnother(user, labels.command, told);
  impl_->steps.Meet(user, labels, told);
  const auto brought = impl_->Brought(record.user, record.asked);
  auto predicted = told.predicted ? std::optional(estimate::AsBrought(*told.predicted)) : brought;
  const bool corrects = predicted && told.predicted && !told.predicted->retrained;
  if (corrects && !impl_->steps.CorrectByModel(user, told, *predicted)) {
    impl_->runs.Correct(user, *predicted);
  }
  const auto own = impl_->steps.NeedsOf(user, told);
  std::optional<Needs> needs;
  if (own && IsMeasured(*own, record.asked)) needs = own;
  bool by_others = false;
  if (!needs && !another) {
    // Runs of the same command whose step nobody knows.
    auto measured = impl_->MeasuredOf(record.user, record.asked);
    if (measured.needs && !measured.by_others && IsMeasured(*measured.needs, record.asked)) {
      needs = std::move(measured.needs);
    }
  }
  if (!needs) {
    needs = impl_->steps.OthersNeeds(user, told);
    by_others = needs.has_value();
  }
  if (!needs) {
    if (!predicted) return record.believed;
    if (own) estimate::TakeObservedPace(*predicted, *own);
    if (own) estimate::FillFrom(*predicted, *own);
    if (brought && told.predicted) estimate::FillFrom(*predicted, *brought);
    return *std::move(predicted);
  }
  if (predicted) estimate::FillFrom(*needs, *predicted);
  if (predicted && by_others) NeverBelow(*needs, *predicted);
  return *std::move(needs);
}

core::Estimate ServerAdvisor::EstimateOf(const core::JobRecord& record) {
  return estimate::EstimateFor(
      record.believed, record.asked, impl_->cluster,
      [&models = impl_->catalogue](const std::string& name) { return models.Lookup(name); });
}

core::WorkloadId ServerAdvisor::WorkloadOf(const core::Account& user,
                                           const Submission& submission) {
  const std::string key = core::WorkloadKey(submission);
  const core::WorkloadId id = impl_->pairs.IdOf(OwnedDigest(user.name, key));
  std::optional<Needs> needs = impl_->Brought(user, submission);
  if (!needs) needs = impl_->runs.NeedsOf(user.name, DigestOf(key));
  if (needs && impl_->pairs.Name(id, needs->profile.workload)) impl_->learnt = true;
  return id;
}

const policy::Policy& ServerAdvisor::Policy() {
  Impl& in = *impl_;
  if (in.learnt) {
    // New() has made one of the same name and options before.
    in.before = std::exchange(in.now, in.Build().value());
    in.learnt = false;
  }
  return *in.now->policy;
}

void ServerAdvisor::LearnShared(const core::SharedRun& run) {
  impl_->pairs.Add(run);
  impl_->learnt = true;
}

std::optional<core::Ratio> ServerAdvisor::SpeedWithShare(const core::Demand& demand,
                                                         core::Ratio sm_share) {
  if (!demand.known) return std::nullopt;
  return interference::SpeedAlone(demand, sm_share);
}

void ServerAdvisor::LearnRun(const core::JobRecord& record, const core::Profile& seen) {
  impl_->ForgetNow();
  const KeyDigest key = DigestOf(core::WorkloadKey(record.asked));
  const core::Profile profile = Impl::KeptOf(record, seen);
  impl_->runs.Add(record.user.name, key, record.number, profile,
                  {core::TimeTaken(record), SeenFor(record, seen)});
  const auto& asked = record.asked.needs;
  if (asked && asked->sources.busy == core::Source::kPredicted && !asked->retrained) {
    impl_->runs.Compare(record.user.name, key, estimate::AsBrought(*asked).profile, seen);
  }
  if (record.told) impl_->LearnStep(record, profile, seen);
  impl_->LearnDuration(record);
  impl_->Keep(key, record);
  impl_->Publish(record.user.name);
  if (!impl_->options.learn) return;
  if (auto run = RunToKeep(record, seen)) impl_->options.learn(*std::move(run));
}

void ServerAdvisor::LearnStep(const core::JobRecord& record, const core::Profile& seen) {
  impl_->ForgetNow();
  impl_->LearnStep(record, Impl::KeptOf(record, seen), seen);
  if (!impl_->options.learn) return;
  if (auto run = RunToKeep(record, seen)) impl_->options.learn(*std::move(run));
}

}  // namespace sharewell::server
