#include "engine/slurm/control/slurm_waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_hold.h"
#include "engine/slurm/control/slurm_submission.h"

namespace sharewell::engine {

using core::Result;

namespace {

constexpr std::string_view kSingleton = "singleton";

// With the job that it stands for now.
std::string WithoutSingleton(std::string_view dependency, std::int64_t before) {
  const auto at = dependency.find(kSingleton);
  return fmt::format("{}afterany:{}({}){}", dependency.substr(0, at), before, kSingleton,
                     dependency.substr(at + kSingleton.size()));
}

}  // namespace

Result<void> SlurmWaiting::LookAtGone() {
  std::vector<std::int64_t> gone;
  for (const auto& [id, known] : book_.jobs()) {
    if (!known.line && !book_.runs().contains(id)) gone.push_back(id);
  }
  std::vector<std::int64_t> told = gone;
  std::erase_if(told, [&](std::int64_t id) { return !book_.jobs().at(id).told; });
  RETURN_IF_ERROR(jobs_.ShowAll(told));
  jobs_.AccountForgotten();
  for (const std::int64_t id : gone) {
    if (book_.jobs().at(id).told) RETURN_IF_ERROR(EmitGone(id));
    book_.jobs().erase(id);
    book_.cancel_waiting().erase(id);
  }
  return {};
}

Result<void> SlurmWaiting::EmitGone(std::int64_t id) {
  const auto shown = jobs_.Show(id);
  RETURN_IF_ERROR(shown);
  std::string how = "Slurm does not have it any more";
  if (!*shown) {
    const auto accounted = book_.client().Accounted(id);
    if (accounted && *accounted && IsOver((*accounted)->phase)) {
      how = fmt::format("Slurm's accounting says of it: {}, exit code {}", (*accounted)->phase_word,
                        EndOf(**accounted).exit_code);
    }
  } else if ((*shown)->phase == SlurmPhase::kCancelled) {
    how = "it was cancelled in Slurm";
  } else if (IsOver((*shown)->phase)) {
    how = "it ran in Slurm without Sharewell";
  } else {
    how = "it was taken to partition " + core::Quoted((*shown)->partition);
  }
  book_.Emit(JobWithdrawn{id, std::move(how)});
  return {};
}

bool SlurmWaiting::PutPrediction(const SlurmKnown& known, ForeignJob& foreign) const {
  const SlurmJob& job = *known.job;
  const auto words = WordsOf(job, *known.note);
  if (!words || words->model.empty() || !book_.options().predict || foreign.asked.gpus == 0)
    return true;
  return PutNeeds(book_.options().predict(*words, job, foreign.asked), foreign);
}

// A job that asks for one node runs on GPU models of which one node has enough.
void SlurmWaiting::KeepToLargeNodes(const SlurmJob& job, core::Submission& asked) const {
  if (job.nodes_wanted > 1 || asked.gpus <= 1) return;
  std::set<std::string> enough, all;
  for (const auto& [name, here] : book_.nodes()) {
    for (const core::GivenGpu& gpu : here.node.gpus) {
      all.insert(gpu.model);
      if (here.node.gpus.size() >= static_cast<std::size_t>(asked.gpus)) enough.insert(gpu.model);
    }
  }
  if (enough.empty() || enough == all) return;
  if (asked.gpu_models.empty()) {
    asked.gpu_models.assign(enough.begin(), enough.end());
    return;
  }
  const std::vector<std::string> before = asked.gpu_models;
  std::erase_if(asked.gpu_models, [&](const std::string& one) { return !enough.contains(one); });
  if (asked.gpu_models.empty()) asked.gpu_models = before;  // it waits, and says for what
}

// What sharing costs is added to a job's time limit, which an admin alone may extend.
void SlurmWaiting::KeepAloneWithoutRights(ForeignJob& foreign) const {
  core::Submission& asked = foreign.asked;
  if (book_.options().admin || !asked.time_limit || asked.exclusive || asked.gpus == 0) return;
  asked.exclusive = true;
  if (!foreign.remark.empty()) return;
  foreign.remark =
      "it has its GPU for itself, as it has a time limit, which nobody but an admin of Slurm could "
      "extend by what sharing costs; submit it with --time=UNLIMITED to let it share";
}

// It needs nodes that nobody else is on: all the CPUs that the smallest has. What it asked for is
// what Slurm is told.
void SlurmWaiting::AskForWholeNodes(const SlurmJob& job, core::Submission& asked) const {
  if (!job.whole_nodes) return;
  int fewest = 0;
  for (const auto& [name, here] : book_.nodes()) {
    if (here.told && !here.node.gpus.empty() && (fewest == 0 || here.slurm.cpus < fewest)) {
      fewest = here.slurm.cpus;
    }
  }
  asked.cores = std::max(asked.cores.value_or(0), 1.0 * fewest * std::max(job.nodes_wanted, 1));
}

SlurmFacts SlurmWaiting::Facts() const {
  SlurmFacts facts = nodes_.Facts();
  facts.is_there = jobs_.IsThere();
  return facts;
}

// Slurm runs jobs of one name and user that ask for it (singleton) one after the other, and does
// not look at that while a job is held.
SlurmJob SlurmWaiting::NamingTheOneBefore(const SlurmJob& job) const {
  SlurmJob named = job;
  if (job.dependency.find(kSingleton) == std::string::npos) return named;
  std::optional<std::int64_t> before;
  for (const auto& [id, known] : book_.jobs()) {
    if (!known.line || !known.job || id == job.id || known.job->uid != job.uid) continue;
    if (known.job->name != job.name || (job.array && known.job->array == job.array)) continue;
    const bool waits = known.line->phase == SlurmPhase::kPending;
    if (!waits || id < job.id) before = id;
  }
  if (before) named.dependency = WithoutSingleton(job.dependency, *before);
  return named;
}

StartTerms SlurmWaiting::TermsNow(const SlurmKnown& known, const SlurmFacts& facts) const {
  const SlurmJob job = NamingTheOneBefore(*known.job);
  const ForeignJob foreign = SubmissionOf(job, *known.note, book_.options().model);
  const bool kept = book_.now() < known.kept_until;
  StartTerms terms =
      TermsOf(job, *known.note, foreign.asked.gpu_models, kept ? known.kept : "", facts);
  terms.weight = WeightOf(*known.job, nodes_.shares());
  nodes_.PutRank(*known.job, terms);
  terms.array_at_once = arrays_.AtOnce(*known.job);
  if (WaitsHeldByOthers(*known.line)) {
    terms.waits_for = "waiting for Slurm: " +
                      HoldInWords(known.line->reason, SlurmName(*known.job), known.left_nodes);
    for (const std::string& name : known.left_nodes) {
      const auto here = book_.nodes().find(name);
      if (here == book_.nodes().end() || here->second.slurm.reason.empty()) continue;
      terms.waits_for += fmt::format(" (node {}: {})", name, here->second.slurm.reason);
    }
  }
  return terms;
}

// Looked at again when the nodes are others, and when the time has come.
void SlurmWaiting::EmitTerms(std::int64_t id, SlurmKnown& known, const SlurmFacts& facts) {
  if (!known.note) return;
  const std::string hold = WaitsHeldByOthers(*known.line) ? known.line->reason : std::string();
  // What a node says of itself when a job of it is held comes later than the hold.
  const bool same = known.terms_version == nodes_.terms_version() && known.terms_hold == hold;
  if (same && hold.empty() && facts.now < known.terms_until) return;
  known.terms_version = nodes_.terms_version();
  known.terms_hold = hold;
  known.terms_until = TermsHoldUntil(NamingTheOneBefore(*known.job),
                                     book_.now() < known.kept_until ? known.kept : "", facts);
  StartTerms terms = TermsNow(known, facts);
  if (known.terms.value_or(StartTerms()) != terms) {
    book_.Emit(TermsChanged{id, terms});
  }
  known.terms = std::move(terms);
}

void SlurmWaiting::EmitWaiting() {
  const SlurmFacts facts = Facts();
  const bool dry_run = book_.options().dry_run;
  for (auto& [id, known] : book_.jobs()) {
    if (!known.line || !known.job || book_.runs().contains(id)) continue;
    const SlurmJob& job = *known.job;
    const bool held = WaitsHeld(*known.line);
    if (known.told && !held && !dry_run) {
      known.told = false;
      const bool cancelled = job.phase == SlurmPhase::kCancelled;
      book_.Emit(JobWithdrawn{
          id, std::string(cancelled ? "it was cancelled in Slurm" : kReleasedByOthers)});
      continue;
    }
    if (known.told && held && !dry_run) EmitTerms(id, known, facts);
    if (known.told || !known.note || (!held && !dry_run)) continue;
    if (!dry_run && !job.array_task && !job.array_tasks.empty()) continue;  // to be split
    EmitSubmitted(id, known, facts);
  }
}

void SlurmWaiting::EmitSubmitted(std::int64_t id, SlurmKnown& known, const SlurmFacts& facts) {
  const SlurmJob& job = *known.job;
  ForeignJob foreign = SubmissionOf(job, *known.note, book_.options().model);
  KeepToLargeNodes(job, foreign.asked);
  AskForWholeNodes(job, foreign.asked);
  if (!PutPrediction(known, foreign)) return;  // it stays held in Slurm until the next look
  known.told = true;
  if (!book_.options().dry_run) {
    known.terms = foreign.terms = TermsNow(known, facts);
    known.terms_version = nodes_.terms_version();
  }
  KeepAloneWithoutRights(foreign);
  if (const int most = arrays_.AtOnce(job); most > 0) foreign.asked.array_at_once = most;
  book_.Emit(JobSubmitted{id, std::move(foreign)});
}

}  // namespace sharewell::engine
