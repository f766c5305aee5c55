// A Slurm site as it is found from this machine: what its slurmctld says, and its files where they
// lie here.
#pragma once

#include <string>

#include "engine/slurm/read/slurm_driver.h"
#include "engine/slurm/site/site_check.h"

namespace sharewell::cli {

// Never fails: what could not be had is absent, and `unreached` says why. Takes a few seconds where
// slurmctld does not answer.
engine::SlurmSite FindSlurmSite(engine::SlurmDriver& driver, const std::string& partition);

}  // namespace sharewell::cli
