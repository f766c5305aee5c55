// What a SlurmControl is told when it is made: plain data, and whom it asks and tells.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "engine/cluster_control.h"
#include "engine/runner.h"
#include "engine/slurm/control/job_note.h"
#include "engine/slurm/control/slurm_claim.h"
#include "engine/slurm/read/slurm_state.h"
#include "engine/watched_runs.h"

namespace sharewell::engine {

struct SlurmControlOptions {
  GpuModelNamed model;  // REQUIRED
  bool admin = true;    // false: jobs of `uid` alone, whose notes are in Comment
  std::uint32_t uid = 0;
  bool dry_run = false;             // say what would be done, and do nothing
  bool private_jobs = false;        // whose a job is that has a GPU is not told
  core::Seconds poll{1};            // between two looks
  core::Seconds start_within{30};   // of a release; then it is held again
  core::Seconds nodes_every{5};     // nodes are read
  core::Seconds again_after{15};    // a stop or a cancel is said again
  core::Seconds longest_pause{10};  // while Slurm does not answer
  // What a job needs by the model that its user names in the comment. Empty: nobody can say. It
  // must not wait: absent is not known yet, and asked again with the next look.
  std::function<std::optional<core::Result<core::Needs>>(
      const UserWords& words, const SlurmJob& job, const core::Submission& asked)>
      predict = {};
  StepsOfRuns steps = {};          // empty: nobody watches the nodes
  core::Seconds shares_every{60};  // fair share is read
  // A node that has a job again in the second in which that left it runs no Prolog for it.
  core::Seconds back_after{1.1};
  std::function<void()> alive = [] {};     // after each look that Slurm answered
  std::function<core::UnixMillis()> wall;  // REQUIRED: the time of day
  std::function<void(const std::string&)> log = [](const std::string&) {};
  // Called in the course of a look, between two questions: commands that came meanwhile are given
  // now. A look at a long queue takes longer than a start may wait. False: there were none.
  std::function<bool()> meanwhile = [] { return false; };
  // Why jobs wait, in words, of those of which that has changed since it was asked last.
  std::function<std::map<std::int64_t, std::string>()> reasons = {};  // empty: nobody says
  // Whether an agent is heard on that node: jobs share GPUs only where one is. It must not wait.
  // Empty: agents cannot be heard, and jobs share everywhere.
  std::function<bool(const std::string& node)> watched = {};
  // Says in Slurm that this server places the jobs, and keeps from placing any where another one
  // does. Absent: nothing is said.
  std::optional<SlurmClaim> claim = {};
};

}  // namespace sharewell::engine
