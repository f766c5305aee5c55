// Prometheus' text exposition format (0.0.4), and OpenMetrics as far as it is the same: what
// dcgm-exporter, node_exporter and our own monitor answer at /metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/metric.h"
#include "core/result.h"

namespace sharewell::imports {

struct ExposedSample {
  std::string_view name;                                         // into the text
  std::vector<std::pair<std::string_view, std::string>> labels;  // in their order, escapes undone
  double value = 0;                                              // may be NaN or infinite
  std::optional<core::UnixMillis> time;
  std::size_t line = 0;

  // Null when it has no such label.
  const std::string* Label(std::string_view label) const;
};

struct ExposedFamily {
  std::string_view name, type;  // "gauge", "counter" ...; empty: not said
  std::string help;             // escapes undone; may be empty
};

struct Exposition {
  std::vector<ExposedFamily> families;  // that have HELP or TYPE, in their order
  std::vector<ExposedSample> samples;   // in their order
};

// The text must outlive what is returned. Errors are usage errors with the line; `name` stands in
// them.
core::Result<Exposition> ReadPrometheusText(std::string_view text, const std::string& name);

}  // namespace sharewell::imports
