// What `sharewell slurm install --print` prints: one shell script for this site, to be read and
// then run by its admin. It writes our files beside slurm.conf, changes lines of slurm.conf and
// gres.conf (the old ones stay as comments), and says of each change what it does. `bash install.sh
// --undo` takes all of it back. Pure; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/slurm/site/site_check.h"

namespace sharewell::engine {

// The files of packaging/slurm, as they are shipped.
struct SiteFiles {
  std::string_view lua, prolog, epilog, task_prolog, watchdog;
};

struct InstallOptions {
  std::string partition;  // empty: all
  std::string state = "/var/lib/sharewell";
  std::string folder = "/etc/slurm";  // of slurm.conf
  bool hold_cpu_jobs = false;
  std::vector<unsigned> schedulers = {0};  // who may place jobs
};

// The name of a GPU model in the catalogue for a type of Slurm's ("v100"); empty: none.
using ModelNamed = std::function<std::string(const std::string&)>;

std::string InstallScript(const SlurmSite& site, const SiteFiles& files,
                          const InstallOptions& options, const ModelNamed& model);

// job_submit.lua with these settings in it.
std::string LuaFor(std::string_view lua, const InstallOptions& options);

// A NodeName line with slots: "Gres=gpu:v100:2" becomes gpu:g0:1,gpu:g1:1,shard:g0:100,shard:g1:100
// and Feature=V100. Empty: it has no GPUs, or slots already.
std::string NodeLineWithSlots(std::string_view line, const ModelNamed& model);

}  // namespace sharewell::engine
