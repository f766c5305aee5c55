// What a group's admin mails round: who used the GPUs, what was wasted, who waited, whether it was
// fair, and the commands that mend it. From the server's own records alone; what they do not tell
// is said to be unknown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/job/job_record.h"
#include "report/jobs/job_tables.h"
#include "report/jobs/usage_rows.h"
#include "simulation/usage/savings.h"

namespace sharewell::report {

struct WeekParts {
  std::string server;                 // the machine's name
  core::UnixMillis from = 0, to = 0;  // to: now
  std::vector<core::JobRecord> jobs;  // all that lived in that time; others are left out
  std::vector<GpuNow> gpus;
  bool cut = false;  // the server has more jobs than were read
  std::optional<simulation::Savings> savings = {};
  std::string no_savings = {};           // why there are none
  std::optional<UsageTable> usage = {};  // by user, with what it cost; absent: unknown
};

std::string WeekReport(const WeekParts& parts, std::string_view made);

}  // namespace sharewell::report
