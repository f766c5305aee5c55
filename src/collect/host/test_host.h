// For tests: a machine of their own making, and looking up what a collector gave.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/collector.h"
#include "core/metric.h"
#include "platform/files/test_folder.h"

namespace sharewell::collect {

// A machine of a test's own making.
class MadeHost {
 public:
  void Write(const std::string& path, std::string_view text) {
    const std::filesystem::path full = folder_.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::binary) << text;
  }
  void Remove(const std::string& path) { std::filesystem::remove_all(folder_.path() + path); }
  std::string root() const { return folder_.path(); }

 private:
  platform::TestFolder folder_;
};

// None: no such reading. Two of the same: -1e300, which no test expects.
inline std::optional<double> ValueOf(const std::vector<core::Reading>& readings,
                                     const core::Metric& metric, std::string_view instance = {},
                                     std::string_view job = {}) {
  std::optional<double> found;
  for (const core::Reading& reading : readings) {
    if (reading.metric != &metric || reading.instance != instance || reading.job != job) continue;
    found = found ? -1e300 : reading.value;
  }
  return found;
}

// What one round gives; an error of it is left aside.
inline std::vector<core::Reading> OneRound(Collector& collector) {
  std::vector<core::Reading> readings;
  (void)collector.Collect(readings);
  return readings;
}

}  // namespace sharewell::collect
