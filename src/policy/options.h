// What a user may set about every policy. Few on purpose.
#pragma once

#include <limits>
#include <vector>

#include "core/units.h"
#include "interference/interference.h"

namespace sharewell::policy {

struct Options {
  // The most that neighbours may stretch a job's whole run, as planned (sharewell, complement),
  // where the job states no bound of its own.
  core::Ratio max_slowdown = 1.25;
  int max_jobs_on_gpu = 3;  // Yeung et al.
  // Starts may be given less than all of a GPU's SMs (share). False: nothing would keep them to it,
  // as without MPS.
  bool sm_shares = true;
  // match: how long a job waits for the GPU model that suits it, in its own durations, before it
  // takes any. Infinite: Takayama et al.'s estimate, which lets a type starve. 8 has most of what
  // that saves and keeps the mean wait of a stream (docs/policies.md has the figures).
  double match_patience = 8;
  // Preempting orders pause a job that has its GPUs for itself instead of stopping it, and let
  // every job run for so long first: what is paused again and again does nothing but move its
  // memory.
  bool pauses_runs = false;
  core::Seconds pause_after{60};
  // Of all GPUs, by project (core/projects.h): who is below its share goes first, of equal
  // priority. Empty: no job's project counts. For orders that do not preempt.
  std::vector<core::Ratio> project_shares = {};
  // Projects below their share take back what others borrowed (taking_back.h).
  bool projects_reclaim = false;
  // What is believed of interference: the model and the measured pairs, without the world's
  // residual.
  const interference::Interference* interference = nullptr;
};

}  // namespace sharewell::policy
