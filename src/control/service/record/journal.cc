#include "control/service/record/journal.h"

#include <utility>

namespace sharewell::control {

Journal::Journal(ServiceState& state, store::JobStore& store, engine::Runner& runner, Clock& clock,
                 std::function<void(const std::string&)> log)
    : runner_(runner),
      clock_(clock),
      log_(std::move(log)),
      outbox_(store, state.live, state.board, hub_, log_) {}

void Journal::OnOver(std::function<void(std::int64_t number, core::Phase how)> closes) {
  closes_ = std::move(closes);
}

core::UnixMillis Journal::LookAtClocks() {
  const core::UnixMillis today = clock_.Wall();
  wall_.Look(today, runner_.Now());
  return today;
}

void Journal::Emit(const std::string& kind, std::int64_t job, std::string text) {
  outbox_.AddEvent(Wall(), kind, job, std::move(text));
}

void Journal::EmitAndLog(const std::string& kind, std::int64_t job, std::string text) {
  Log(text);
  Emit(kind, job, std::move(text));
}

void Journal::Log(const std::string& text) const {
  if (log_) log_(text);
}

core::Result<void> Journal::Commit(store::JobChanges changes) {
  auto stored = outbox_.Commit(std::move(changes));
  RETURN_IF_ERROR(stored);
  for (const auto& [number, how] : stored->over) {
    tally_.CountEnd(how);
    closes_(number, how);
  }
  for (const std::int64_t number : stored->withdrawn) NumberIsTaken(number);
  for (const engine::RunId& run : stored->ended) runner_.Forget(run);
  return {};
}

core::Result<void> Journal::CommitAll() {
  do {
    if (auto kept = Commit(); !kept) return kept;
  } while (outbox_.owes_records());
  return {};
}

}  // namespace sharewell::control
