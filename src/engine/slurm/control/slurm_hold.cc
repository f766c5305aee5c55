#include "engine/slurm/control/slurm_hold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sharewell::engine {
namespace {

struct OtherHold {
  std::string_view reason, words;
};
constexpr std::string_view kByAdmin = "JobHeldAdmin", kBadPlace = "BadConstraints";
constexpr std::array kOtherHolds = {
    OtherHold{kByAdmin, "an admin of Slurm holds it"},
    OtherHold{"launch failed requeued held",
              "Slurm could not launch it, and holds it (launch failed requeued held)"},
    OtherHold{"job requeued in held state",
              "somebody put it back into Slurm's queue, held (scontrol requeuehold)"},
    OtherHold{"SPECIAL_EXIT",
              "it ended with an exit code after which Slurm holds jobs (SPECIAL_EXIT)"},
};

}  // namespace

bool WaitsHeld(const SlurmQueueLine& line) {
  return line.phase == SlurmPhase::kPending && line.priority == 0;
}

bool IsOurHold(std::string_view reason) {
  // Where a place of ours cannot be, Slurm itself holds the job: it is placed anew.
  return reason == "JobHeldUser" || reason == kBadPlace;
}

bool LosesHold(const SlurmQueueLine& line) { return WaitsHeld(line) && line.reason == kBadPlace; }

bool WaitsHeldByUs(const SlurmQueueLine& line) { return WaitsHeld(line) && IsOurHold(line.reason); }

bool WaitsHeldByOthers(const SlurmQueueLine& line) {
  return WaitsHeld(line) && !IsOurHold(line.reason);
}

std::string HoldInWords(std::string_view reason, const std::string& name,
                        const std::vector<std::string>& nodes) {
  std::string blanks(reason);  // `scontrol show job` has none
  std::replace(blanks.begin(), blanks.end(), '_', ' ');
  const auto* const found = std::find_if(
      kOtherHolds.begin(), kOtherHolds.end(),
      [&](const OtherHold& one) { return one.reason == reason || one.reason == blanks; });
  std::string who = found != kOtherHolds.end() ? std::string(found->words)
                                               : fmt::format("Slurm holds it ({})", reason);
  if (!nodes.empty()) who += fmt::format("; it was on {}", fmt::join(nodes, ","));
  return fmt::format(
      "{}; `scontrol release {}` lets it run with what it asked for, without Sharewell; {} "
      "`scontrol uhold {}` gives it back to Sharewell",
      who, name, reason == kByAdmin ? "or" : "after that", name);
}

}  // namespace sharewell::engine
