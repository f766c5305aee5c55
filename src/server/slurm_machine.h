// A Slurm cluster as ours: its nodes as they were when the server began, and the GPU models of all
// of them, so that those that are down may join later.
#pragma once

#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "core/result.h"
#include "engine/runner.h"
#include "engine/slurm/slurm_place.h"
#include "server/this_machine.h"

namespace sharewell::server {

// `models`: names of the catalogue. An error: there is nothing that a job could run on.
core::Result<MachineHere> SlurmMachine(const std::vector<engine::RunnerNode>& nodes,
                                       const std::vector<std::string>& models,
                                       const catalogue::GpuCatalogue& catalogue);

// `catalogue` must outlive what is returned.
engine::SlurmModelNamed ModelsOf(const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::server
