#include "catalogue/groups_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
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

// What may be known of one job; `end` is "_a", or nothing where each job has a row.
struct MemberColumns {
  platform::CsvReader::Column name, steps, share, alone, after, limited, busy, sm, dram, cores;
  WorkloadColumns workload;

  static MemberColumns Find(platform::CsvReader& csv, const std::string& end) {
    return {csv.Require("workload" + end),
            csv.Require("steps_per_s" + end),
            csv.Find("sm_percent" + end),
            csv.Find("alone_steps_per_s" + end),
            csv.Find("alone_after_steps_per_s" + end),
            csv.Find("limited_alone_steps_per_s" + end),
            csv.Find("alone_gpu_util" + end),
            csv.Find("alone_gpm_sm" + end),
            csv.Find("alone_gpm_dram" + end),
            csv.Find("alone_cpu_cores" + end),
            WorkloadColumns::Find(csv, end)};
  }

  GroupMember Read(platform::CsvReader& csv) const {
    const auto percent = [&](platform::CsvReader::Column column) -> std::optional<core::Ratio> {
      const auto value = csv.OptionalNumber(column, {0, 100.5});
      if (!value) return std::nullopt;
      return std::min(*value / 100, 1.0);
    };
    GroupMember member;
    csv.RequiredText(name);
    member.workload = workload.Read(csv);
    member.sm_share = csv.OptionalNumber(share, {0, 100, true}).value_or(100) / 100;
    member.steps_per_second = csv.Number(steps, {0, 1e12});
    member.alone = csv.OptionalNumber(alone, kRate);
    const auto later = csv.OptionalNumber(after, kRate);
    if (later) member.alone = member.alone ? (*member.alone + *later) / 2 : *later;
    member.limited_alone = csv.OptionalNumber(limited, kRate);
    member.busy = percent(busy);
    member.sm = percent(sm);
    member.dram = percent(dram);
    member.cpu_cores = csv.OptionalNumber(cores, {0, 1e6});
    return member;
  }
};

void ReadWide(platform::CsvReader& csv, std::vector<MeasuredGroup>& out) {
  std::vector<MemberColumns> columns;
  for (const char letter : kEndings) {
    const std::string end = std::string("_") + letter;
    if (columns.size() >= 2 && !csv.Find("workload" + end)) break;
    columns.push_back(MemberColumns::Find(csv, end));
  }
  const auto mps = csv.Find("mps");
  while (csv.Next()) {
    MeasuredGroup group;
    bool runs = csv.Flag(mps, true);
    for (const MemberColumns& column : columns) {
      group.push_back(column.Read(csv));
      runs = runs && group.back().steps_per_second > 0;
    }
    if (runs) out.push_back(std::move(group));
  }
}

void ReadLong(platform::CsvReader& csv, std::vector<MeasuredGroup>& out) {
  const auto id = csv.Require("group");
  const auto columns = MemberColumns::Find(csv, "");
  const auto mps = csv.Find("mps");
  std::map<std::string, std::size_t, std::less<>> places;
  std::vector<MeasuredGroup> groups;
  std::set<std::size_t> left_out;
  while (csv.Next()) {
    const auto place = places.emplace(csv.RequiredText(id), groups.size()).first->second;
    if (place == groups.size()) groups.emplace_back();
    groups[place].push_back(columns.Read(csv));
    if (!csv.Flag(mps, true) || groups[place].back().steps_per_second <= 0) left_out.insert(place);
    if (groups[place].size() > kEndings.size()) {
      csv.Fail(id, fmt::format("has more than {} jobs; a GPU is shared by at most so many",
                               kEndings.size()));
    }
  }
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (!left_out.contains(k)) out.push_back(std::move(groups[k]));
  }
}

}  // namespace

core::Result<std::vector<MeasuredGroup>> ReadMeasuredGroups(std::string_view text,
                                                            const std::string& name) {
  platform::CsvReader csv(text, name);
  std::vector<MeasuredGroup> out;
  if (csv.Find("workload")) {
    ReadLong(csv, out);
  } else {
    ReadWide(csv, out);
  }
  if (!csv.ok()) return csv.error();
  if (out.empty()) return core::UsageError("{}: holds nothing measured under MPS (mps = 1)", name);
  return out;
}

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
