// JobHistory: the jobs of a server made into a world that the simulator can run: who asked for what
// and when, how much work it was, and what was seen of it. What is not known of a job is assumed as
// the server itself does (it fills its GPU); a job whose work is not known is left out, and
// counted.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/job/job_record.h"
#include "simulation/scenario.h"

namespace sharewell::simulation {

using JobRecords = std::span<const core::JobRecord* const>;  // none is null

// Which length a job is given.
enum class Length : std::uint8_t {
  kWhole,  // from its first start to its end, as it was seen, or as believed of one that lives
  kRest,   // what is left of a live one, as believed, or up to its time limit
};

struct HistoryOptions {
  Length length = Length::kWhole;
  core::UnixMillis now = 0;
};

struct JobHistory {
  Scenario scenario;                        // by submission, then by number
  std::vector<core::Estimate> believed;     // by JobId, as it was when it was decided on
  std::vector<const core::JobRecord*> job;  // by JobId: whose it is
  core::UnixMillis begin = 0;               // the scenario's time 0
  // By JobId; of kRest. Work done, and what is left of it where that does not follow from what is
  // believed: it has nothing but a time limit, or is about to end.
  std::vector<core::Seconds> done;
  std::vector<std::optional<core::Seconds>> rest;
  // Of kWhole, left out: nobody knows how long they take; they ended before they ran. Of kRest the
  // former are there, and their work has no end.
  std::size_t unknown = 0, never_ran = 0;
  std::size_t held = 0;      // left out
  std::size_t after = 0;     // counted as submitted when the jobs they come after had ended
  std::size_t by_limit = 0;  // taken to need all of their time limit
  std::size_t assumed = 0;   // nothing is known of their needs: taken to fill their GPUs
};

constexpr core::Seconds kNoEnd{1e12};

// Work is in seconds alone on the cluster's first GPU model. Jobs that were submitted at the same
// time keep the order of their numbers.
JobHistory HistoryOf(JobRecords records, const core::Cluster& cluster,
                     std::span<const core::SharedRun> shared, const HistoryOptions& options);

}  // namespace sharewell::simulation
