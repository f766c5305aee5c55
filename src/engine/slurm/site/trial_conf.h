// A copy of a site's slurm.conf that a slurmctld of its own can be started with, beside the running
// one and without touching anything of it: other ports and folders, no accounting, no scripts of
// the site, and every node at a port of this machine where nobody listens. Pure; any thread.
#pragma once

#include <string>

#include "engine/slurm/site/conf_lines.h"
#include "engine/slurm/site/conf_nodes.h"

namespace sharewell::engine {

struct TrialPlace {
  std::string folder;  // for state, spool and pid file
  std::string host;    // this machine's short name
  std::string user;    // who runs it
  int port = 0;        // of slurmctld
  int dead_port = 0;   // of every slurmd
};

// Settings that could reach out of the folder are left out: only those are kept that say what
// nodes, partitions and GRES there are.
std::string TrialConf(const ConfText& conf, const ConfNodes& nodes, const TrialPlace& place);

}  // namespace sharewell::engine
