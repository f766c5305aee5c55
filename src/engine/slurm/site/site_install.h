// What `sharewell slurm install --print` prints: one shell script for this site, to be read and
// then run by its admin. It patches the lines of slurm.conf and gres.conf that concern the
// partition, keeps the files as they were, and writes our files beside them. `bash install.sh
// --undo` brings back exactly what was there. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "engine/slurm/site/site_change.h"
#include "engine/slurm/site/site_check.h"

namespace sharewell::engine {

// The files of packaging/slurm, as they are shipped.
struct SiteFiles {
  std::string_view lua, cli_filter, prolog, epilog, task_prolog, watchdog;
};

std::string InstallScript(const SlurmSite& site, const SiteFiles& files,
                          const InstallOptions& options, const SiteChange& change);

// job_submit.lua with these settings in it.
std::string LuaFor(std::string_view lua, const InstallOptions& options);

// The site's files with the change made, read again; an error would be ours.
core::Result<ConfText> ChangedConf(const ConfText& conf, const SiteChange& change);

}  // namespace sharewell::engine
