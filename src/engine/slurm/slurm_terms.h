// Whether Slurm would start a job now and on which nodes, by its own reasons: begin times,
// dependencies, reservations, licences, limits. A job that it would not start is not placed in
// vain. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runner.h"
#include "engine/slurm/job_note.h"
#include "engine/slurm/slurm_state.h"
#include "engine/slurm/slurm_submission.h"

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
  };
  std::vector<Node> nodes;
};

// `models`: that it may run on; empty: any. `kept`: why Slurm did not start it a moment ago; empty:
// it was not tried.
StartTerms TermsOf(const SlurmJob& job, const JobNote& note, const std::vector<std::string>& models,
                   const std::string& kept, const SlurmFacts& facts);

// "2026-11-16 14:00 UTC"
std::string SlurmTimeInWords(core::UnixMillis time);

}  // namespace sharewell::engine
