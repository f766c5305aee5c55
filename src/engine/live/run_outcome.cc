#include "engine/live/run_outcome.h"

#include <algorithm>

namespace sharewell::engine {

using Why = Attempt::Why;

Outcome OutcomeOf(const JobEntry& job, const RunEnd& end, int most_ooms) {
  const Attempt& run = *job.run;
  const core::Submission& asked = run.request.asked;
  const bool well = end.exit_code == 0 && end.signal == 0 && !end.refused && !end.lost;
  if (run.leaves) {
    // It came to its own end before it could be told to.
    if (well && !end.stopped && !end.timed_out) return Outcome::kFinished;
    // Told to end, it may have saved its work and left with any code, 0 among them. One whose time
    // was over before somebody wanted it back in the queue (a server that came up meanwhile) is
    // over. So is an interactive one: nobody would sit at its next terminal.
    const bool over = asked.terminal || (*run.leaves == Why::kRequeue && end.timed_out);
    return over || *run.leaves == Why::kFail ? Outcome::kFailed : Outcome::kRequeued;
  }
  if (end.refused) return Outcome::kRequeued;
  // It was not to leave any more, and the manager had heard otherwise.
  if (end.stopped && run.was_told && !asked.terminal) return Outcome::kRequeued;
  // By a server before this one, or as the machine was shut down: it may have saved its work.
  if (end.lost || end.stopped) return asked.requeue ? Outcome::kRequeued : Outcome::kFailed;
  if (end.timed_out) return Outcome::kFailed;
  if (well) return Outcome::kFinished;
  // The next run tells whose doing it was: it has the GPU for itself, unless it is known to be
  // innocent.
  if (end.fall && asked.requeue && !asked.terminal) return Outcome::kRequeued;
  // What a guest was kept to says nothing of what it needs. Once: the next limit that is too small
  // counts like any other.
  const bool first_as_guest = run.request.guest_memory && !job.request.guest_oom;
  // A job that is kept alone though its user did not ask for it ran out in an earlier life.
  const bool before = job.exclusive && !asked.exclusive;
  const int ooms = std::max(job.ooms, before ? 1 : 0);
  const bool again = end.out_of_memory && (first_as_guest || ooms < most_ooms) && !asked.terminal;
  return again ? Outcome::kOutOfMemory : Outcome::kFailed;
}

}  // namespace sharewell::engine
