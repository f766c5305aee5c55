// Usage, row by row: GPU hours that were held and used, waits, and what they cost, by user or by
// GPU model. Text, JSON and CSV from the same rows. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/job_record.h"
#include "core/prices.h"
#include "core/result.h"
#include "simulation/usage/gpu_time.h"

namespace sharewell::report {

// What is unknown is absent, never 0.
struct UsageRow {
  std::string name;
  std::size_t jobs = 0;
  // An hour in which n jobs share a GPU counts as an nth of it for each.
  double held_hours = 0;
  double known_hours = 0;            // of them, those of which it is known how busy they were
  std::optional<double> busy_hours;  // of `known_hours`
  double priced_hours = 0;           // of `held_hours`, those of GPU models with a price
  std::optional<double> cost;        // of `priced_hours`
  std::optional<double> wait_mean, wait_p99;  // seconds; of a job that waits, so far
};

struct UsageTable {
  std::string by;  // a word of UsageKinds()
  simulation::TimeSpan time;
  std::string currency;        // empty: not said
  std::vector<UsageRow> rows;  // most hours first
  UsageRow all;
  std::vector<std::string> unpriced;  // GPU models that were held and have no price
  bool cut = false;                   // there are more jobs, or more rows, than were read
};

// What it may be counted by: "user", "project", "gpu". A GPU model is held; what never held a GPU
// is in `all` alone.
const std::vector<std::string>& UsageKinds();

// `jobs`: all that lived in that time; others are left out. `world` of the same jobs and time. A
// usage error names what `by` may be.
core::Result<UsageTable> UsageTableOf(const std::vector<core::JobRecord>& jobs,
                                      const simulation::GpuTime& world, simulation::TimeSpan time,
                                      const std::string& by, const core::Prices& prices);

// For people: one line a row, a line for all, and what the figures do not cover.
std::string UsageTableText(const UsageTable& table);
// What the cost does not cover, in a sentence; empty: nothing is missing.
std::string UnpricedInWords(const UsageTable& table);

// The answers of GET /api/v1/usage?by=: one JSON object on one line; one row of CSV for each row.
std::string UsageTableJson(const UsageTable& table);
std::string UsageTableCsv(const UsageTable& table);

}  // namespace sharewell::report
