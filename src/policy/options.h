// What a user may set about every policy. Few on purpose.
#pragma once

#include <limits>

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
  // takes any. Infinite: Takayama et al.'s estimate, which lets a type starve.
  double match_patience = 1;
  // What is believed of interference: the model and the measured pairs, without the world's
  // residual.
  const interference::Interference* interference = nullptr;
};

}  // namespace sharewell::policy
