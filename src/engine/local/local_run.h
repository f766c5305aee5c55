// One run as the runner of this machine keeps it, until it is forgotten.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "engine/local/run/job_folder.h"
#include "engine/run_end.h"
#include "engine/run_request.h"
#include "platform/files/watch_lines.h"
#include "platform/process/bandwidth_group.h"
#include "platform/process/cgroup_limits.h"

namespace sharewell::engine {

struct LocalRun {
  RunRequest request;  // with the cores it has now
  std::string folder, logs;
  int log_row = -1;    // in the ledger of logs; -1: none
  int supervisor = 0;  // its pid while it is our child; 0: an earlier server's
  int pidfd = -1;
  int watch = -1;  // of the folder, until the command runs; with a time limit, to its end
  std::optional<int> command;  // its pid, once it was told as started
  core::Seconds since;         // when it was
  std::vector<int> lent;       // all CPUs that it may use now; empty: its own
  std::unique_ptr<platform::Cgroup> group;
  std::unique_ptr<platform::BandwidthGroup> bandwidth;  // while it is slowed, where there is one
  // It waits to be begun: for what is known of its user, and then, with a spec, for its GPU.
  bool waits = false;
  std::optional<JobSpec> spec;
  std::vector<std::string> notes;
  bool mps = false;        // a client of MPS
  double steps = 0;        // told
  bool told_once = false;  // of its steps, since this server knows it: how fast it is is not known
  std::vector<core::ToldMetric> metrics;  // told
  // Its watcher has a pipe: what it told so far, and how many bytes of the file that was.
  bool watched = false;
  platform::WatchLines told_lines;
  std::size_t told_bytes = 0;
  int documents = 0;      // told of
  bool told_off = false;  // why it watches no more was told of
  bool made = false;      // its folder is ours to remove
  bool ending = false;    // told so
  bool ended = false;
  bool forgotten = false;  // it is to go without a word when it ends
  std::string pipes;       // of the MPS daemon that it is under; empty: none
  // How it ended, until it is clear whether its neighbours fell with it.
  std::optional<RunEnd> unjudged;
  core::UnixMillis ended_at = 0;  // as its supervisor saw it
  core::Seconds judged_by;        // at the latest
};

}  // namespace sharewell::engine
