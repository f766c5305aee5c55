// A job of Slurm's users as a submission of ours. Pure.
#pragma once

#include "engine/runner.h"
#include "engine/slurm/control/job_note.h"
#include "engine/slurm/control/slurm_place.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

// What its user says of it; absent: nothing.
std::optional<UserWords> WordsOf(const SlurmJob& job, const JobNote& note);

ForeignJob SubmissionOf(const SlurmJob& job, const JobNote& note, const GpuModelNamed& named);

// The note that job_submit.lua would have written, of a job that asks Slurm for GPUs by itself.
// Absent: it asks for none.
std::optional<JobNote> NoteOfRequest(const SlurmJob& job);

// Jobs of which one waits or runs: `id`, and of an array the task; absent: any of its tasks.
using SlurmIsThere =
    std::function<bool(std::int64_t id, std::optional<std::int64_t> task, bool pending_alone)>;

// Whether nothing that it depends on can still happen. Slurm does not look at the dependencies of a
// job that is held: it does once the job is released, and has the last word then.
bool DependencyIsSettled(std::string_view dependency, const SlurmIsThere& is_there);

// Whether its hold is all that keeps it waiting.
bool WaitsForUs(const SlurmJob& job, core::UnixMillis now, const SlurmIsThere& is_there);

}  // namespace sharewell::engine
