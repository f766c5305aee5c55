// SlurmDriver: the one way to Slurm: its own commands (squeue, scontrol, sinfo, sbatch, scancel,
// sacct). A real one runs them; tests script one. Calls wait, each no longer than its limit, so
// that they are made on a thread of their own; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::engine {

struct SlurmAnswer {
  int exit_code = 0;
  std::string output, errors;  // what it wrote; each cut at 256 MiB
};

class SlurmDriver {
 public:
  virtual ~SlurmDriver() = default;
  // `words`: the command and its arguments, no shell. An error: it could not be run, or did not end
  // within `limit` (and was killed).
  virtual core::Result<SlurmAnswer> Run(const std::vector<std::string>& words,
                                        const std::string& input, core::Seconds limit) = 0;
};

// Runs the commands that PATH has, in the C locale, with SLURM_CONF as it is.
std::unique_ptr<SlurmDriver> NewCommandDriver();

}  // namespace sharewell::engine
