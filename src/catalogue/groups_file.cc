#include "catalogue/groups_file.h"

#include <utility>

#include "catalogue/workload_columns.h"
#include "platform/files/csv.h"

namespace sharewell::catalogue {
namespace {

constexpr std::string_view kEndings = "abcdefgh";
constexpr platform::Range kRate{0, 1e12, true};

struct Columns {
  platform::CsvReader::Column name, steps, alone;
  WorkloadColumns workload;
};

}  // namespace

core::Result<std::vector<core::GroupMeasurement>> ReadGroupsText(std::string_view text,
                                                                 const std::string& name) {
  platform::CsvReader csv(text, name);
  std::vector<Columns> columns;
  for (const char letter : kEndings) {
    const std::string end = std::string("_") + letter;
    if (columns.size() >= 2 && !csv.Find("workload" + end)) break;
    columns.push_back({csv.Require("workload" + end), csv.Require("steps_per_s" + end),
                       csv.Require("alone_steps_per_s" + end), WorkloadColumns::Find(csv, end)});
  }
  const auto mps = csv.Find("mps");
  std::vector<core::GroupMeasurement> out;
  while (csv.Next()) {
    core::GroupMeasurement group;
    for (const Columns& column : columns) {
      csv.RequiredText(column.name);
      group.workloads.push_back(column.workload.Read(csv));
      group.steps_per_second.push_back(csv.Number(column.steps, kRate));
      group.alone.push_back(csv.Number(column.alone, kRate));
    }
    // Time slicing is another regime than MPS.
    if (csv.Flag(mps, true)) out.push_back(std::move(group));
  }
  if (!csv.ok()) return csv.error();
  if (out.empty()) return core::UsageError("{}: holds nothing measured under MPS (mps = 1)", name);
  return out;
}

}  // namespace sharewell::catalogue
