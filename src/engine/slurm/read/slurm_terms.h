// Whether Slurm would start a job now and on which nodes, by its own reasons: begin times,
// dependencies, reservations that hold or are to come, licences, limits, and what the job's user
// asked for (--nodelist, --exclude, --constraint). A job that it would not start is not placed in
// vain. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runner.h"
#include "engine/slurm/control/job_note.h"
#include "engine/slurm/control/slurm_submission.h"
#include "engine/slurm/read/slurm_state.h"

namespace sharewell::engine {

// A reason of a released job that no other place would mend: "Licenses", "QOSMaxJobsPerUserLimit".
bool SlurmKeeps(std::string_view reason);

struct SlurmFacts {
  core::UnixMillis now = 0;
  SlurmIsThere is_there;  // REQUIRED
  std::map<std::string, SlurmReservation> reservations;
  // A node that can be used, whether it is up or not.
  struct Node {
    std::string name, model;
    int gpus = 0;
    bool plain = false;  // they have no shards
    std::vector<std::string> slots;
    std::vector<std::string> features = {};
    bool reserved = false;  // now, for jobs of a reservation alone
  };
  std::vector<Node> nodes;  // by name
  // How long jobs may run that state no limit, by partition; absent: without a bound.
  std::map<std::string, core::Seconds> partition_limits = {};
};

// `models`: that it may run on; empty: any. `kept`: why Slurm did not start it a moment ago; empty:
// it was not tried.
StartTerms TermsOf(const SlurmJob& job, const JobNote& note, const std::vector<std::string>& models,
                   const std::string& kept, const SlurmFacts& facts);

// Until when these terms hold, as long as the facts are the same but for the time.
core::UnixMillis TermsHoldUntil(const SlurmJob& job, const std::string& kept,
                                const SlurmFacts& facts);

// "2026-11-16 14:00 UTC"
std::string SlurmTimeInWords(core::UnixMillis time);

}  // namespace sharewell::engine
