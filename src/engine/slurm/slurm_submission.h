// A job of Slurm's users as a submission of ours. Pure.
#pragma once

#include "engine/runner.h"
#include "engine/slurm/job_note.h"
#include "engine/slurm/slurm_place.h"
#include "engine/slurm/slurm_state.h"

namespace sharewell::engine {

ForeignJob SubmissionOf(const SlurmJob& job, const JobNote& note, const SlurmModelNamed& named);

// Whether its hold is all that keeps it waiting. A dependency or a time to begin at is Slurm's to
// watch over.
bool WaitsForUs(const SlurmJob& job, core::UnixMillis now);

}  // namespace sharewell::engine
