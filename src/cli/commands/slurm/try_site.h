// `sharewell slurm install --try`: a slurmctld of its own reads the changed configuration.
#pragma once

#include <string>

#include "core/result.h"
#include "engine/slurm/read/slurm_driver.h"
#include "engine/slurm/site/site_change.h"

namespace sharewell::cli {

struct TryReport {
  bool accepted = false;
  std::string text;  // what it said, in lines
};

// Starts it in a folder that goes again, asks it for its nodes, and ends it. The running slurmctld
// and every slurmd are left alone (engine/slurm/site/trial_conf.h). `lua`: job_submit.lua to try.
core::Result<TryReport> TrySite(engine::SlurmDriver& driver, const engine::ConfText& changed,
                                const engine::SiteChange& change, const std::string& lua);

}  // namespace sharewell::cli
