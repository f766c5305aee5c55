// What a server answers (docs/api.md), as our own types, and what is sent to it. Jobs themselves
// are read and written by store/job_store.h. Errors say what is missing; a figure that is of the
// wrong kind counts as unknown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/job_record.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "report/html/job_report.h"
#include "report/jobs/job_tables.h"
#include "report/jobs/usage_rows.h"
#include "simulation/replay/whatif.h"
#include "simulation/usage/savings.h"

namespace sharewell::cli {

struct JobsAnswer {
  std::vector<core::JobRecord> jobs;  // newest first
  std::map<std::string, std::int64_t> counts;
  std::optional<std::int64_t> next;  // ask below this one for more
  std::string store_problem = {};    // why jobs that are over may be missing; empty: they are not
};

// The forecast of a dry run.
struct Considered {
  core::JobRecord job;  // as it would be, the first of an array
  std::optional<core::UnixMillis> start;
  std::string where;  // "GPU 0 (H200)"; empty: unknown
  std::string why;
};

// Why a job waits, or was put where it is.
struct Why {
  std::vector<std::string> sentences;
  std::optional<core::UnixMillis> expected_start;
};

// The body of a submission: of one, or of an array.
std::string SubmissionsJson(std::span<const core::Submission> submissions);

core::Result<JobsAnswer> JobsFromAnswer(std::string_view body);
core::Result<Considered> ConsideredFromAnswer(std::string_view body);
core::Result<Why> WhyFromAnswer(std::string_view body);
core::Result<report::JobSpeed> SpeedFromAnswer(std::string_view body);
core::Result<std::vector<report::GpuNow>> GpusFromAnswer(std::string_view body);
core::Result<report::NodeNow> NodeFromAnswer(std::string_view body);
// Of GET /jobs/N/samples, how busy one of its GPUs was, by time; empty: it does not say.
std::vector<std::pair<core::UnixMillis, core::Ratio>> BusyFromAnswer(std::string_view body,
                                                                     const core::GivenGpu& gpu);
// Of GET /limits, whose they are.
core::Result<std::string> UserFromAnswer(std::string_view body);
core::Result<simulation::WhatIfResult> WhatIfFromAnswer(std::string_view body);
// Of GET /usage?by=.
core::Result<report::UsageTable> UsageTableFromAnswer(std::string_view body);
// Of GET /usage, what sharing saved.
core::Result<simulation::Savings> SavingsFromAnswer(std::string_view body);
std::optional<core::Event> EventFromAnswer(std::string_view data);
// What a problem+json says; empty where it is none.
std::string DetailOf(std::string_view body);

}  // namespace sharewell::cli
