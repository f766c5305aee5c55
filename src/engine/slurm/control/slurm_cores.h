// The CPUs of a job in Slurm's words. They are set while it is held, as Slurm cannot change those
// of a job that runs: no more than its user asked for, as they are charged to him, and fewer where
// it can use no more. Slurm counts them by task, and a job's environment has its tasks from the
// submission on: what is taken is taken from each task. Pure.
#pragma once

#include <string>

#include "engine/slurm/control/job_note.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

// Of all its nodes, as its user asked for them.
int CpusAsked(const SlurmJob& job, const JobNote::Ask& ask);

// What a start with so many cores comes to, into the note's put; what was asked for goes into the
// note's ask, where it would be lost. 0 cores: as asked. REQUIRES: the note has a put.
void PutCpus(double cores, const SlurmJob& job, JobNote& note);

// " NumCPUs=3 CPUsPerTask=3 ..." for an update of a job that is to have so many CPUs on so many
// nodes; empty: it has them, and always had. Its memory stays what it was.
std::string CpuFields(const SlurmJob& job, const JobNote::Ask& ask, int cpus, int nodes);

// What is to be said of a run that has so many; empty: they are as asked.
std::string CpusInWords(const JobNote& note, int has);

}  // namespace sharewell::engine
