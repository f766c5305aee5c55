// LiveBook: what the parts of the live engine share: the jobs and their processes (LiveTable), the
// nodes (LiveNodes), and what is yet to be told (LiveNews). LiveStarts, LiveStops, LivePauses and
// LiveStays change it by what is decided, LiveHearing by what the runner tells. The loop's thread.
#pragma once

#include <utility>
#include <vector>

#include "engine/live/live_engine.h"
#include "engine/live/live_news.h"
#include "engine/live/live_nodes.h"
#include "engine/live/live_table.h"
#include "engine/runner.h"

namespace sharewell::engine {

struct LiveBook {
  LiveBook(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus, Runner& run,
           const LiveOptions& chosen)
      : runner(run), options(chosen), nodes(cluster, std::move(gpus)), table(nodes.gpu_count()) {}

  core::Seconds Now() const { return runner.Now(); }

  Runner& runner;
  const LiveOptions options;
  LiveNodes nodes;
  LiveTable table;
  LiveNews news = {};
  bool touched = false;  // the runner was told something, and may have to tell something
};

}  // namespace sharewell::engine
