// `sharewell slurm preview`: what a Slurm site's own last days would have come to with Sharewell,
// before anything is installed: from its accounting and its nodes as they are.
#pragma once

#include <string>

#include "catalogue/gpu_catalogue.h"
#include "cli/commands/commands.h"
#include "core/result.h"
#include "engine/slurm/site/site_check.h"

namespace sharewell::cli {

struct PreviewFlags {
  std::string partition;
  std::string days = "7";
  std::string out = "sharewell-preview";  // the folder for the history and the cluster
  std::string gpu_catalogue;              // empty: ours alone
  bool json = false;
};

// Only asks Slurm; what it writes is in `out`.
core::Result<ExitCode> PreviewSite(const PreviewFlags& flags, const engine::SlurmSite& site,
                                   const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::cli
