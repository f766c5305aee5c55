#include "engine/slurm/control/slurm_ends.h"

#include <fmt/format.h>

#include <utility>

#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_cores.h"
#include "engine/slurm/control/slurm_hold.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

bool HasBegun(SlurmPhase phase) {
  return phase == SlurmPhase::kRunning || phase == SlurmPhase::kSuspended ||
         phase == SlurmPhase::kCompleting || IsOver(phase);
}

void SlurmEnds::EmitStarted(SlurmRun& run) {
  if (std::exchange(run.told_started, true)) return;
  const auto known = book_.jobs().find(run.request.id.job);
  run.began = book_.options().wall();
  if (known != book_.jobs().end() && known->second.job && known->second.job->started) {
    run.began = *known->second.job->started;  // of an earlier server: what it told counts
  }
  RunStarted started{run.request.id};
  const SlurmQueueLine* line = jobs_.LineOf(run.request.id.job);
  if (!book_.options().dry_run && line != nullptr && line->cpus != 0 && HasBegun(line->phase)) {
    started.cores = line->cpus;
    started.message = CpusInWords(run.note, line->cpus);
  }
  book_.Emit(std::move(started));
}

void SlurmEnds::Refuse(std::int64_t job, std::string why) {
  const RunId id = book_.runs().at(job).request.id;
  const WantedRun wanted = book_.runs().at(job).wanted;
  book_.runs().erase(job);
  // One that was told to end has ended.
  if (wanted != WantedRun::kNothing) {
    book_.ended()[id] = StoppedEnd("it was stopped before it began");
    return book_.Emit(RunEnded{id, book_.ended()[id]});
  }
  book_.Emit(StartRefused{id, std::move(why)});
}

void SlurmEnds::End(std::int64_t job, RunEnd end) {
  const RunId id = book_.runs().at(job).request.id;
  book_.runs().erase(job);
  book_.SetLastEnd();
  book_.ended()[id] = end;
  book_.Emit(RunEnded{id, std::move(end)});
}

void SlurmEnds::EndTaken(std::int64_t job, std::string withdrawn, std::string ended) {
  book_.jobs()[job].told = false;
  book_.Emit(JobWithdrawn{job, std::move(withdrawn)});
  End(job, StoppedEnd(std::move(ended)));
}

void SlurmEnds::EndHeld(std::int64_t job) {
  const SlurmRun& run = book_.runs().at(job);
  SlurmKnown& known = book_.jobs().at(job);
  if (run.step != SlurmRun::Step::kPlace) {
    known.left_at = book_.now();
    known.left_nodes = run.request.nodes;
  }
  std::string why = HoldInWords(known.line->reason, jobs_.NameOf(job), known.left_nodes);
  // At once, so that nobody starts it in vain.
  StartTerms terms = known.terms.value_or(StartTerms());
  terms.waits_for = "waiting for Slurm: " + why;
  known.terms = terms;
  known.terms_version = 0;
  book_.Emit(TermsChanged{job, std::move(terms)});
  if (!run.told_started) return Refuse(job, std::move(why));
  End(job, StoppedEnd(std::move(why)));
}

std::optional<SlurmJob> SlurmEnds::ByAccounts(std::int64_t job, std::string& unknown) {
  constexpr Seconds kAccountsComeWithin(60);
  SlurmRun& run = book_.runs().at(job);
  if (!run.gone) run.gone = book_.now();
  auto found = book_.client().Accounted(job);
  if (found && *found && IsOver((*found)->phase)) return std::move(*found);
  const bool may_come = !found || found->has_value();
  if (may_come && book_.now() < *run.gone + kAccountsComeWithin) return std::nullopt;
  std::string why = "there is no accounting that has it";
  if (!found) {
    why = "its accounting does not answer: " + found.error().message;
  } else if (*found) {
    why = "its accounting says " + (*found)->phase_word;
  }
  unknown = fmt::format("how it ended is not known: Slurm has forgotten job {} (MinJobAge), and {}",
                        job, why);
  return std::nullopt;
}

Result<void> SlurmEnds::LookAtEnd(std::int64_t job) {
  auto shown = jobs_.Show(job);
  RETURN_IF_ERROR(shown);
  SlurmRun& run = book_.runs().at(job);
  std::string unknown;
  if (!*shown) *shown = ByAccounts(job, unknown);
  if (!*shown && unknown.empty()) return {};
  const auto known = book_.jobs().find(job);
  if (*shown && !IsOver((*shown)->phase)) {
    const std::string& now = (*shown)->partition;
    if (known == book_.jobs().end() || known->second.home.empty() || known->second.home == now) {
      return {};  // the next look will have it
    }
    EndTaken(job, fmt::format("it was taken to partition {}", core::Quoted(now)),
             "somebody else took it to another partition of Slurm");
    return {};
  }
  book_.jobs()[job].told = false;
  if (!*shown) {
    RunEnd end;
    end.exit_code = 1;
    end.message = std::move(unknown);
    End(job, std::move(end));
    return {};
  }
  const SlurmJob& over = **shown;
  RunEnd end = EndOf(over);
  if (over.phase == SlurmPhase::kCancelled) {
    if (run.wanted != WantedRun::kNothing) {
      end.stopped = true;
      end.message.clear();
    }
    if (run.wanted != WantedRun::kCancel) {
      book_.Emit(JobWithdrawn{job, "it was cancelled in Slurm"});
    }
  }
  if (over.started || over.phase == SlurmPhase::kCompleted) EmitStarted(run);
  End(job, std::move(end));
  return {};
}

}  // namespace sharewell::engine
