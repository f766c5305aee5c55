// Co-locations: two to eight workloads measured together on one GPU, with their rates alone in the
// same sitting: data/h200/triples.csv, and pairs files that have those rates. The columns are those
// of docs/formats/pairs.md with one ending more a job: _a, _b, _c and so on.
//
// Or one row a job, the rows of one group with the same `group`, any number of them: column names
// without endings (data/h200/groups.csv). Both may say what share of the SMs each job was limited
// to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/profile.h"
#include "core/result.h"

namespace sharewell::catalogue {

// One job of a group, and how it was alone in the same sitting; unknown is absent.
struct GroupMember {
  core::Workload workload;
  core::Ratio sm_share = 1;  // of the SMs that it was limited to
  double steps_per_second = 0;
  std::optional<double> alone;          // steps a second with all SMs, the mean of before and after
  std::optional<double> limited_alone;  // with its share
  std::optional<core::Ratio> busy, sm, dram;  // alone with all SMs
  std::optional<double> cpu_cores;

  friend bool operator==(const GroupMember&, const GroupMember&) = default;
};
using MeasuredGroup = std::vector<GroupMember>;

// Either shape. Groups that were time-sliced, or did not fit into memory, are left out.
core::Result<std::vector<MeasuredGroup>> ReadMeasuredGroups(std::string_view text,
                                                            const std::string& name);

// The first shape, with rates alone and without shares.
core::Result<std::vector<core::GroupMeasurement>> ReadGroupsText(std::string_view text,
                                                                 const std::string& name);

}  // namespace sharewell::catalogue
