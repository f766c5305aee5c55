#include "collect/metrics/metrics.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "collect/metrics/host_metrics.h"
#include "platform/files/test_folder.h"
#include "platform/files/write_file.h"

namespace sharewell::collect {
namespace {

TEST(Metrics, ThePageIsWhatTheTablesSay) {
  const std::string path = "docs/metrics.md";
  if (std::getenv("SHAREWELL_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(platform::WriteFile(path, MetricsPage()));
  }
  EXPECT_EQ(platform::TestFolder::Read(path), MetricsPage())
      << "write it anew: SHAREWELL_UPDATE_GOLDEN=1 build/release/collect_tests "
         "--gtest_filter='Metrics.*'";
}

TEST(Metrics, NamesAreUniqueAndWellFormed) {
  std::set<std::string_view> names, exported;
  for (const core::Metric* metric : AllMetrics()) {
    EXPECT_TRUE(names.insert(metric->name).second) << metric->name;
    EXPECT_EQ(metric->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
              std::string_view::npos)
        << metric->name;
    EXPECT_FALSE(metric->unit.empty()) << metric->name;
    EXPECT_TRUE(metric->help.ends_with('.')) << metric->name;
    EXPECT_EQ(metric->help.find('|'), std::string_view::npos) << metric->name;
    // A unit other than a count is the end of the name.
    if (metric->unit != "1") {
      EXPECT_TRUE(metric->name.ends_with(metric->unit)) << metric->name << " in " << metric->unit;
    }
  }
}

// Prometheus takes a name with the same labels once: two metrics with one name differ by a label.
TEST(Metrics, ExportedNamesDifferByTheirLabels) {
  std::set<std::string> seen;
  for (const core::Metric* metric : AllMetrics()) {
    if (metric->exported.empty()) continue;
    const std::string series = std::string(metric->exported) + "{" +
                               std::string(metric->export_labels) + "}" +
                               (metric->name.starts_with("job_") ? "job" : "");
    EXPECT_TRUE(seen.insert(series).second) << series;
  }
}

}  // namespace
}  // namespace sharewell::collect
