// Lists of jobs as people read them: the jobs of an array as one row, names that stay different
// where they are cut, and what is said of many jobs said once. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/job/job_record.h"

namespace sharewell::report {

// Which jobs of a list are shown, and how.
struct JobsShown {
  std::string user = {};                 // empty: of all users
  std::vector<core::Phase> phases = {};  // empty: any
  bool flat = false;                     // a row for each job of an array, too

  bool Takes(const core::JobRecord& job) const;
  bool TakesAll() const { return user.empty() && phases.empty(); }
};

// Never empty; several are of one user's array.
using JobRow = std::vector<const core::JobRecord*>;

// One row a job, in the order given; unless `flat`, those of an array are one row, which stands
// where the first of them does.
std::vector<JobRow> JobRowsOf(const std::vector<const core::JobRecord*>& jobs, bool flat);

// "17", "18-27", "18-20,22"; of many pieces the first and the last number: "18...40".
std::string JobNumbersInWords(const JobRow& row);
// What the names of its jobs have in common, with "*" for what differs: "lr=*".
std::string JobNameOf(const JobRow& row);
// Names of rows where the name alone does not tell them apart get what follows in their commands.
std::vector<std::string> JobNamesOf(const std::vector<JobRow>& rows);

// Each in at most `width` columns. Of a name that begins as another one does, the part in which
// they differ stays: "experiment-…lr-0.01".
std::vector<std::string> CutNames(const std::vector<std::string>& names, std::size_t width);

// "18-27, 31: no GPU has room", a line for each text, in the order in which they come; at most
// `most` of them, then how many are left out. Rows without a text are left out.
std::string SaidOnce(const std::vector<std::pair<JobRow, std::string>>& texts, std::size_t width,
                     std::size_t most);

}  // namespace sharewell::report
