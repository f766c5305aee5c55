// What an import of samples came to: plain figures.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sharewell::measure {

// What one metric of an import came to.
struct ImportedMetric {
  std::string metric, unit;
  std::int64_t series = 0, samples = 0;
  double least = 0, mean = 0, most = 0;
};

struct ImportedMetrics {
  std::vector<ImportedMetric> metrics;  // by name
  std::vector<std::string> nodes;
  std::int64_t samples = 0, blank = 0, repeated = 0;
  std::int64_t scrapes = 0, failed = 0;
  std::vector<std::pair<std::string, std::int64_t>> unknown;  // names and their samples
};

}  // namespace sharewell::measure
