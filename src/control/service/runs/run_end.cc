#include "control/service/runs/run_end.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/words.h"

namespace sharewell::control {

using core::JobRecord;
using core::Phase;

std::string TimeIsOver(const JobRecord& record) {
  const double limit = record.asked.time_limit.value_or(core::Seconds(0)).value;
  if (record.limit_extended.value < 1) return fmt::format("its time limit ({} s) is over", limit);
  return fmt::format("its time limit ({} s, extended by {:.0f} s because it shared) is over", limit,
                     record.limit_extended.value);
}

std::string FallInWords(const engine::Fall& fall) {
  using Part = engine::Fall::Part;
  const bool both = fall.with.size() == 1;
  std::string others = both ? "job " : "jobs ";
  for (std::size_t i = 0; i < fall.with.size(); ++i) {
    const char* between = i == 0 ? "" : i + 1 < fall.with.size() ? ", " : " and ";
    others += fmt::format("{}{}", between, fall.with[i].job);
  }
  if (fall.part == Part::kCulprit) return "it broke the GPU under itself and " + others;
  if (fall.part == Part::kInnocent && fall.culprit) {
    return fmt::format("its neighbour job {} broke the GPU under {}", fall.culprit->job,
                       both ? "both" : "all of them");
  }
  return fmt::format(
      "the GPU broke under it and {}: {} failed within a moment, and whose doing it was is not "
      "known",
      others, both ? "both" : "all");
}

std::string EndInWords(const engine::RunEnd& end, const JobRecord& record) {
  if (end.fall) return FallInWords(*end.fall);
  if (end.refused) return fmt::format("it could not be started: {}", end.message);
  if (!end.message.empty()) return end.message;
  if (end.timed_out) return TimeIsOver(record);
  if (end.lost) return "the machine or its supervisor went down under it";
  if (end.signal != 0) return fmt::format("ended by signal {}", end.signal);
  return {};
}

void CountLost(JobRecord& record) {
  if (++record.lost < kMostLost) return;
  core::SetHold(record, core::hold::LostRuns{record.lost});
  record.asked.held = true;
  record.note = record.reason;
}

namespace {

// As core::Snapshot::CountOom does.
void CountOom(JobRecord& record) {
  if (record.guest_memory && !record.guest_oom) {
    record.guest_oom = record.guest_memory;
    record.note = fmt::format(
        "it ran out of the {} of GPU memory that it had as a guest and is tried again with more "
        "room",
        core::SizeText(*record.guest_memory));
    return;
  }
  ++record.ooms;
  record.note = "it ran out of GPU memory beside others and is tried once more, alone";
}

}  // namespace

void WriteEnd(const engine::Ended& ended, core::UnixMillis now, JobRecord& record) {
  const engine::RunEnd& end = ended.end;
  const bool latest = record.attempt == ended.run.attempt;
  if (latest && record.resumed) {
    record.run_time +=
        end.ran ? *end.ran
                : core::Seconds(std::max(0.0, static_cast<double>(now - *record.resumed) / 1e3));
  }
  if (end.fall && end.fall->part == engine::Fall::Part::kCulprit) record.broke_gpu = true;
  const bool innocent = end.fall && end.fall->part == engine::Fall::Part::kInnocent;
  if (latest && !end.lost && !end.refused && !innocent) record.lost = 0;
  switch (ended.outcome) {
    case engine::Outcome::kFinished:
      record.phase = Phase::kFinished;
      break;
    case engine::Outcome::kFailed:
      record.phase = record.cancelled ? Phase::kCancelled : Phase::kFailed;
      if (const std::string words = EndInWords(end, record); !words.empty() && !record.cancelled) {
        record.note = words;
      }
      break;
    case engine::Outcome::kOutOfMemory:
      CountOom(record);
      [[fallthrough]];
    case engine::Outcome::kRequeued:
      if (end.refused) record.note = EndInWords(end, record) + "; it is tried again";
      if (end.fall) {
        if (!innocent) ++record.ooms;  // as after those it runs alone
        record.note = EndInWords(end, record) +
                      (innocent ? "; it is started again" : "; it is tried once more, alone");
      }
      if (ended.earlier_leaves) {
        // The end of that one decides: it may finish before it hears that it should leave.
        record.phase = Phase::kStopping;
        if (!record.cancelled) record.reason = "its last run is leaving; then it is queued again";
      } else if (record.cancelled) {
        record.phase = Phase::kCancelled;
      } else if (latest || record.phase == Phase::kStopping) {
        record.phase = Phase::kWaiting;
        if (latest && (end.lost || innocent)) CountLost(record);
      }
      break;
  }
  if (record.phase == Phase::kCancelled) record.note = core::InWords(*record.cancelled);
  if (latest || core::IsOver(record.phase)) {
    record.exit_code = end.refused ? std::nullopt : std::optional(end.exit_code);
  }
  if (!core::IsOver(record.phase)) return;
  record.ended = now;
  record.hold.reset();
}

}  // namespace sharewell::control
