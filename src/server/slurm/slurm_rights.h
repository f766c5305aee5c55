// Whether Slurm will let this account place other users' jobs.
#pragma once

#include <sys/types.h>

#include <string>

#include "engine/slurm/read/slurm_driver.h"

namespace sharewell::server {

// Empty: root and Slurm's own user may, and where Slurm does not tell who that is nothing is said.
// An account that Slurm's database knows as an operator may too, which is not asked: hence a
// remark, and no error.
std::string SlurmRightsRemark(engine::SlurmDriver& driver, uid_t uid);

}  // namespace sharewell::server
