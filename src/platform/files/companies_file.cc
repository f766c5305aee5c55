#include "platform/files/companies_file.h"

#include <utility>

#include "platform/files/csv.h"
#include "platform/files/workload_columns.h"

namespace sharewell::platform {
namespace {

constexpr std::string_view kEndings = "abcdefgh";
constexpr Range kRate{0, 1e12, true};

struct Columns {
  CsvReader::Column name, steps, alone;
  WorkloadColumns workload;
};

}  // namespace

core::Result<std::vector<core::CompanyMeasurement>> ReadCompaniesText(std::string_view text,
                                                                      const std::string& name) {
  CsvReader csv(text, name);
  std::vector<Columns> columns;
  for (const char letter : kEndings) {
    const std::string end = std::string("_") + letter;
    if (columns.size() >= 2 && !csv.Find("workload" + end)) break;
    columns.push_back({csv.Require("workload" + end), csv.Require("steps_per_s" + end),
                       csv.Require("alone_steps_per_s" + end), WorkloadColumns::Find(csv, end)});
  }
  const auto mps = csv.Find("mps");
  std::vector<core::CompanyMeasurement> out;
  while (csv.Next()) {
    core::CompanyMeasurement company;
    for (const Columns& column : columns) {
      csv.RequiredText(column.name);
      company.workloads.push_back(column.workload.Read(csv));
      company.steps_per_second.push_back(csv.Number(column.steps, kRate));
      company.alone.push_back(csv.Number(column.alone, kRate));
    }
    // Time slicing is another regime than MPS.
    if (csv.Flag(mps, true)) out.push_back(std::move(company));
  }
  if (!csv.ok()) return csv.error();
  if (out.empty()) return core::UsageError("{}: holds nothing measured under MPS (mps = 1)", name);
  return out;
}

}  // namespace sharewell::platform
