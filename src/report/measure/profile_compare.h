// Profiles against each other: two side by side, or every workload on one GPU against another, or
// on one CPU against another (Takayama et al.'s tables V, VI and IX).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/job/profile_record.h"

namespace sharewell::report {

std::string ProfilePairText(const core::ProfileRecord& a, const core::ProfileRecord& b);
std::string ProfilePairJson(const core::ProfileRecord& a, const core::ProfileRecord& b);

// What stands in the columns.
enum class CompareBy { kGpu, kCpu };

// One row for each workload that was measured in two columns at least, one cell for each column.
// Of several profiles of one workload in one column the newest stands for it.
struct Comparison {
  CompareBy by = CompareBy::kGpu;
  std::vector<std::string> columns;  // GPU models, or CPUs; by name
  struct Row {
    core::Workload workload;
    std::vector<const core::ProfileRecord*> cells;  // null: not measured there
  };
  std::vector<Row> rows;  // by workload
  std::size_t alone = 0;  // workloads that only one column has
};

// `records` must outlive it. By GPU, rows are told apart by CPU no further, and the other way
// round: what differs beside is for the reader to judge.
Comparison Compare(const std::vector<core::ProfileRecord>& records, CompareBy by);
std::string ComparisonText(const Comparison& comparison);
std::string ComparisonJson(const Comparison& comparison);

}  // namespace sharewell::report
