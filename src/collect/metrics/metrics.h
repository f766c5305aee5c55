// The list of all metrics: docs/metrics.md, /metrics and the names in the store come from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/metric.h"

namespace sharewell::collect {

// In the order of docs/metrics.md. Names are unique.
std::span<const core::Metric* const> AllMetrics();

// docs/metrics.md as it should be.
std::string MetricsPage();

}  // namespace sharewell::collect
