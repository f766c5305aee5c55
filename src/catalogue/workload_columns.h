// The four columns that say which workload a row is about: workload, batch, precision, workers.
// Profiles, pairs (with _a and _b behind each) and our own trace have them in common.
#pragma once

#include <string>

#include "core/job/profile.h"
#include "platform/files/csv.h"

namespace sharewell::catalogue {

struct WorkloadColumns {
  platform::CsvReader::Column name, batch, precision, workers;

  // Whichever of them the file has; a caller that needs the name asks csv.Require first.
  static WorkloadColumns Find(const platform::CsvReader& csv, const std::string& suffix = "");

  // Empty fields are 0 or empty text; numbers out of bounds are csv's error.
  core::Workload Read(platform::CsvReader& csv) const;
};

}  // namespace sharewell::catalogue
