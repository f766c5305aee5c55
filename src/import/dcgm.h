// Samples that other exporters collected, under our own names: dcgm-exporter's (classic and renamed
// fields), node_exporter's, and those of our own monitor.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/metric.h"
#include "import/prometheus_text.h"

namespace sharewell::imports {

struct ImportedSamples {
  // One batch a node and time, by node, then time. Nodes are never empty.
  std::vector<std::pair<std::string, core::Batch>> batches;
  std::int64_t taken = 0;
  std::int64_t blank = 0;     // DCGM's "no value", NaN and infinities
  std::int64_t repeated = 0;  // the same series again: a GPU that several pods share
  std::map<std::string, std::int64_t> unknown;  // names that are none of ours, with their samples
};

// `node`: for samples without a label hostname or Hostname. `now`: for samples without a time.
// `metrics`: collect::AllMetrics().
ImportedSamples FromSamples(const Exposition& exposition, const std::string& node,
                            core::UnixMillis now, std::span<const core::Metric* const> metrics);

}  // namespace sharewell::imports
