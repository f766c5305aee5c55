// How runs end: refused, told by Slurm, or found in its accounting.
#include <fmt/format.h>

#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_control.h"

namespace sharewell::engine {

using core::Result;
using core::Seconds;

void SlurmControl::Refuse(std::int64_t job, std::string why) {
  const RunId id = runs_.at(job).request.id;
  const Wanted wanted = runs_.at(job).wanted;
  runs_.erase(job);
  // One that was told to end has ended.
  if (wanted != Wanted::kNothing) {
    ended_[id] = StoppedEnd("it was stopped before it began");
    return Emit(RunEnded{id, ended_[id]});
  }
  Emit(StartRefused{id, std::move(why)});
}

void SlurmControl::End(std::int64_t job, RunEnd end) {
  const RunId id = runs_.at(job).request.id;
  limits_.erase(id);
  runs_.erase(job);
  ended_[id] = end;
  Emit(RunEnded{id, std::move(end)});
}

// Of a job that Slurm has forgotten (MinJobAge). Absent: it is not known how it ended, and
// `unknown` says why; where that is empty, it may be told a little later.
std::optional<SlurmJob> SlurmControl::ByAccounts(std::int64_t job, std::string& unknown) {
  constexpr Seconds kAccountsComeWithin(60);
  Run& run = runs_.at(job);
  if (!run.gone) run.gone = now_;
  auto found = client_.Accounted(job);
  if (found && *found && IsOver((*found)->phase)) return std::move(*found);
  const bool may_come = !found || found->has_value();
  if (may_come && now_ < *run.gone + kAccountsComeWithin) return std::nullopt;
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

// Of all that Slurm does not show any more in one question, so that ByAccounts need not ask for
// each.
void SlurmControl::AccountForgotten() {
  std::vector<std::int64_t> forgotten;
  for (const auto& [job, shown] : shown_) {
    if (!shown) forgotten.push_back(job);
  }
  if (forgotten.size() > 1) client_.AccountAll(forgotten);
}

// It is not in the queue any more, or is over.
Result<void> SlurmControl::LookAtEnd(std::int64_t job) {
  auto shown = Show(job);
  RETURN_IF_ERROR(shown);
  Run& run = runs_.at(job);
  std::string unknown;
  if (!*shown) *shown = ByAccounts(job, unknown);
  if (!*shown && unknown.empty()) return {};
  const auto known = known_.find(job);
  if (*shown && !IsOver((*shown)->phase)) {
    const std::string& now = (*shown)->partition;
    if (known == known_.end() || known->second.home.empty() || known->second.home == now) {
      return {};  // the next look will have it
    }
    known->second.told = false;
    Emit(JobWithdrawn{job, fmt::format("it was taken to partition {}", core::Quoted(now))});
    End(job, StoppedEnd("somebody else took it to another partition of Slurm"));
    return {};
  }
  known_[job].told = false;
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
    if (run.wanted != Wanted::kNothing) {
      end.stopped = true;
      end.message.clear();
    }
    if (run.wanted != Wanted::kCancel) {
      Emit(JobWithdrawn{job, "it was cancelled in Slurm"});
    }
  }
  if (over.started || over.phase == SlurmPhase::kCompleted) EmitStarted(run);
  End(job, std::move(end));
  return {};
}

}  // namespace sharewell::engine
