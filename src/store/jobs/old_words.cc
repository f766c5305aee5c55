#include "store/jobs/old_words.h"

#include <charconv>
#include <string>
#include <string_view>

namespace sharewell::store {
namespace {

using core::Phase;

// What follows `begin` in `text`; absent: the text begins otherwise.
std::optional<std::string> After(std::string_view text, std::string_view begin) {
  if (!text.starts_with(begin)) return std::nullopt;
  return std::string(text.substr(begin.size()));
}

// Without "; `sharewell release 17` tries it again ...".
std::string WithoutAdvice(const std::string& text) {
  return text.substr(0, text.rfind("; `sharewell release"));
}

std::int64_t NumberIn(const std::string& digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

core::Hold OldHold(const core::JobRecord& job) {
  namespace hold = core::hold;
  const std::string_view said = job.reason;
  if (const auto by = After(said, "paused by ")) return hold::Paused{*by};
  if (const auto number = After(said, "waits for job ")) return hold::AfterJob{NumberIn(*number)};
  if (const auto why = After(said, "held until there are nodes for it: ")) {
    return hold::NoNodes{WithoutAdvice(*why)};
  }
  if (const auto why = After(said, "held, as this machine is not what it was: ")) {
    return hold::MachineChanged{*why};
  }
  if (After(said, "held, as the machine, its supervisor or its GPU went down")) {
    return hold::LostRuns{job.lost};
  }
  if (After(said, "held: its record was not written by this server")) return hold::Untrusted{};
  if (After(said, "held: its process ended while it was paused")) return hold::EndedPaused{};
  if (After(said, "held: `sharewell release`")) return hold::ByUser{};
  if (const auto why = After(said, "held: ")) return hold::Refused{WithoutAdvice(*why)};
  if (!job.asked.held && !job.asked.after.empty()) return hold::AfterJob{job.asked.after.front()};
  return hold::ByUser{};
}

core::Cancelled OldCancelled(const core::JobRecord& job) {
  namespace cancelled = core::cancelled;
  // While it runs, why it is being ended; then how it ended.
  const std::string_view said = core::IsOver(job.phase) ? job.note : job.reason;
  if (const auto who = After(said, "cancelled by ")) return cancelled::ByUser{*who};
  if (After(said, "the store failed while it was submitted")) return cancelled::ByStore{};
  const auto before = After(said, "job ");
  if (before && before->find(", which it was to come after, ") != std::string::npos) {
    using Before = cancelled::ByJobBefore;
    const auto end = before->ends_with(" failed")          ? Before::End::kFailed
                     : before->ends_with(" was cancelled") ? Before::End::kCancelled
                                                           : Before::End::kUnknown;
    return cancelled::ByJobBefore{NumberIn(*before), end};
  }
  return cancelled::ByManager{std::string(said)};
}

}  // namespace

void ReadOldWords(bool cancelled, core::JobRecord& job) {
  const bool pausing = job.phase == Phase::kStopping && job.paused && job.asked.held && !cancelled;
  if (!job.hold && (job.phase == Phase::kHeld || pausing)) job.hold = OldHold(job);
  if (!job.cancelled && (cancelled || job.phase == Phase::kCancelled)) {
    job.cancelled = OldCancelled(job);
  }
}

bool OldGpuGone(const core::JobRecord& job) {
  return job.note == "its GPU is not here any more; it runs on";
}

}  // namespace sharewell::store
