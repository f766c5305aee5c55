// Co-locations: two to eight workloads measured together on one GPU, with their rates alone in the
// same sitting: data/h200/triples.csv, and pairs files that have those rates. The columns are those
// of docs/formats/pairs.md with one ending more a job: _a, _b, _c and so on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/profile.h"
#include "core/result.h"

namespace sharewell::catalogue {

core::Result<std::vector<core::GroupMeasurement>> ReadGroupsText(std::string_view text,
                                                                 const std::string& name);

}  // namespace sharewell::catalogue
