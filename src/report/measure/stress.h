// What `sharewell stress` did, as text and JSON. Rows are plain data, filled by the command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace sharewell::report {

struct StressRow {
  std::string kind;  // "membw"
  std::string unit;  // "bytes_per_second", "bytes" or "cores"
  std::string what;  // what it was made of, in words
  double target = 0;
  double capacity = 0;                           // what 100 % is
  std::optional<core::Ratio> capacity_spread;    // of its measurements; absent: not measured
  std::vector<double> seconds;                   // the mean of each
  std::optional<double> mean;                    // absent: not a second was over
  std::optional<core::Ratio> error;              // of the mean against the target, signed
  std::optional<core::Ratio> variation;          // coefficient of variation of the seconds
  std::optional<core::Ratio> largest_deviation;  // of a second from the mean
  bool held = false;
  std::string why;  // it was not held; else empty
};

struct StressOutcome {
  core::Seconds asked;
  bool interrupted = false;
  std::vector<StressRow> rows;
};

std::string StressTable(const StressOutcome& outcome);
std::string StressJson(const StressOutcome& outcome);
// "12 s  membw 25.01 GB/s  cpu 1.50 cores": one second of all rows that have one.
std::string StressLine(std::size_t second, const std::vector<StressRow>& rows);
// A level in its unit: "25.01 GB/s".
std::string StressLevel(const std::string& unit, double value);

}  // namespace sharewell::report
