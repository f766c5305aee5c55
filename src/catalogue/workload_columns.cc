#include "catalogue/workload_columns.h"

namespace sharewell::catalogue {

WorkloadColumns WorkloadColumns::Find(const platform::CsvReader& csv, const std::string& suffix) {
  return {csv.Find("workload" + suffix), csv.Find("batch" + suffix), csv.Find("precision" + suffix),
          csv.Find("workers" + suffix)};
}

core::Workload WorkloadColumns::Read(platform::CsvReader& csv) const {
  core::Workload workload;
  workload.name = csv.Text(name);
  workload.batch = static_cast<int>(csv.OptionalInteger(batch, 0, 1'000'000'000).value_or(0));
  workload.precision = csv.Text(precision);
  workload.workers = static_cast<int>(csv.OptionalInteger(workers, 0, 1'000'000).value_or(0));
  return workload;
}

}  // namespace sharewell::catalogue
