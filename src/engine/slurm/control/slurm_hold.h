// Who holds a job that waits in Slurm at priority 0, by Slurm's own reason. Only what the plugin
// holds at submission, and what we hold again after a start that came to nothing, waits for us
// (JobHeldUser: we always hold as a user does). Any other hold is an admin's or Slurm's, and ends
// by their doing alone. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/slurm/read/slurm_read.h"

namespace sharewell::engine {

// Of a job that waited for us and is not held any more.
inline constexpr std::string_view kReleasedByOthers =
    "an admin released it: it runs with what it asked for, without Sharewell";

// `reason` of a job at priority 0, as squeue has it.
bool IsOurHold(std::string_view reason);

// Of a line of the queue: it waits, held by whomever.
bool WaitsHeld(const SlurmQueueLine& line);
// It waits, held, and for us.
bool WaitsHeldByUs(const SlurmQueueLine& line);
// Any update would lift the hold: Slurm itself holds it, for BadConstraints.
bool LosesHold(const SlurmQueueLine& line);
// It waits, held by somebody else.
bool WaitsHeldByOthers(const SlurmQueueLine& line);

// Who holds it and what lets it go. `name`: as scontrol is told it, "17". `nodes`: where it was
// last. REQUIRES: it is not our hold.
std::string HoldInWords(std::string_view reason, const std::string& name,
                        const std::vector<std::string>& nodes = {});

}  // namespace sharewell::engine
