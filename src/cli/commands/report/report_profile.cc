#include <utility>

#include "cli/args/store_flag.h"
#include "cli/commands/measure/named_profiles.h"
#include "cli/commands/report/report_pages.h"
#include "report/html/compare_report.h"
#include "report/html/profile_report.h"
#include "report/measure/profile_charts.h"
#include "store/store.h"

namespace sharewell::cli {
namespace {

using core::ProfileRecord;
using core::Result;

constexpr std::size_t kReportPoints = 280;  // of a line: two pixels of a chart each

// What was sampled of the machine and of the job during its run.
Result<std::vector<report::SeriesRead>> SamplesOfRun(store::Store& store,
                                                     const ProfileRecord& record) {
  std::vector<report::SeriesRead> series;
  if (record.created <= 0) return series;
  store::SeriesFilter filter;
  if (std::string node = report::ProfileNode(record); !node.empty()) filter.node = std::move(node);
  const auto listed = store.List(filter);
  RETURN_IF_ERROR(listed);
  const store::TimeRange range = report::ProfileRange(record);
  for (const store::SeriesInfo& info : *listed) {
    if (!info.key.job.empty() && info.key.job != record.name) continue;
    if (!report::IsInProfileReport(info.key.metric)) continue;
    if (info.last < range.from || info.first >= range.to) continue;
    auto buckets = store.Chart(info.key, range, kReportPoints);
    RETURN_IF_ERROR(buckets);
    if (buckets->empty()) continue;
    series.push_back({info, range, kReportPoints, std::move(*buckets), {}});
  }
  return series;
}

}  // namespace

Result<std::string> ProfilePage(const ReportFlags& flags) {
  const auto store = OpenStoreThatIsThere(flags.store);
  RETURN_IF_ERROR(store);
  const auto found = NamedProfiles(**store, flags.words[0], {}, "report profile");
  RETURN_IF_ERROR(found);
  const auto series = SamplesOfRun(**store, found->back());
  RETURN_IF_ERROR(series);
  return report::ProfileReport(found->back(), *series, flags.made);
}

Result<std::string> ComparePage(const ReportFlags& flags) {
  const auto store = OpenStoreThatIsThere(flags.store);
  RETURN_IF_ERROR(store);
  const auto a = NamedProfiles(**store, flags.words[0], {}, "report compare");
  RETURN_IF_ERROR(a);
  const auto b = NamedProfiles(**store, flags.words[1], {}, "report compare");
  RETURN_IF_ERROR(b);
  const auto series_a = SamplesOfRun(**store, a->back());
  RETURN_IF_ERROR(series_a);
  const auto series_b = SamplesOfRun(**store, b->back());
  RETURN_IF_ERROR(series_b);
  return report::ProfilePairPage(a->back(), b->back(), *series_a, *series_b, flags.made);
}

}  // namespace sharewell::cli
