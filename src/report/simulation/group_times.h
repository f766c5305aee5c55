// Waiting and completion by size and by user: rows of a table with a column for each policy, and
// members of a JSON document.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/writer.h"
#include "report/simulation/simulation.h"
#include "simulation/group_times.h"

namespace sharewell::report {

// A policy's groups, one list a seed.
using GroupRuns = std::vector<const std::vector<simulation::GroupTimes>*>;

// A figure over seeds: as `format` writes it, of several seeds "mean ± standard deviation".
std::string SpreadText(const std::vector<std::optional<double>>& values,
                       const std::function<std::string(double)>& format);

// Five rows for each size that some policy has. An indented label belongs to the one above it.
std::vector<SummaryRow> SizeRows(const std::vector<GroupRuns>& policies);

// The users who wait longest and shortest under the last policy, with their mean waits and
// completions under each; empty where there are fewer than two users.
std::string UsersText(const std::vector<std::string>& names, const std::vector<GroupRuns>& policies,
                      std::size_t width);

// `name`: the key of a group's name.
void WriteGroups(json::Writer& out, std::string_view key, std::string_view name,
                 const std::vector<simulation::GroupTimes>& groups);

// The group of that name; null: it has no jobs.
const simulation::GroupTimes* FindGroup(const std::vector<simulation::GroupTimes>& groups,
                                        std::string_view name);

// The figures of a group, in the order in which they are shown.
struct GroupFigure {
  std::string_view key, label;
  std::optional<double> simulation::GroupTimes::*of;
};
const std::vector<GroupFigure>& GroupFigures();

}  // namespace sharewell::report
