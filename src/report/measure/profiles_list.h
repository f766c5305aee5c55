// Many profiles at once: a table to choose from, JSON, and the CSV that `train` and `simulate` read
// (docs/formats/profiles.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/profile_record.h"

namespace sharewell::report {

// The fact of that name in its environment; absent: not known.
std::optional<std::string> FactOf(const core::ProfileRecord& record, std::string_view name);

std::string ProfilesTable(const std::vector<core::ProfileRecord>& records);
// A row for each, without figures and kernels.
std::string ProfilesListJson(const std::vector<core::ProfileRecord>& records);

struct ProfilesCsvText {
  std::string csv;
  std::size_t rows = 0;
  std::size_t older = 0;  // left out: a newer one of the same workload on the same GPU is there
  std::size_t without_gpu = 0;  // left out: the format is about GPUs
};
ProfilesCsvText ProfilesCsv(const std::vector<core::ProfileRecord>& records);

}  // namespace sharewell::report
