// Whom Slurm lets see other users' jobs: PrivateData of slurm.conf, and the operators of its
// database (AdminLevel). Both are read when the server begins.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "api/access/privacy.h"
#include "core/result.h"
#include "engine/slurm/read/slurm_driver.h"

namespace sharewell::server {

// `text`: `sacctmgr -nP show user format=User,AdminLevel`. Lines that are something else name none.
std::set<std::string> SlurmOperatorsIn(std::string_view text);

// An error: Slurm does not say, and nothing may be shown then. Without slurmdbd there are no
// operators.
core::Result<api::Privacy> SlurmPrivacy(engine::SlurmDriver& driver);

}  // namespace sharewell::server
