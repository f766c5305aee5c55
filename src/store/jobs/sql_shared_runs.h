// What two jobs were measured to do to each other, as SqlJobStore writes it and keeps it bounded.
#pragma once

#include <vector>

#include "core/job/job_record.h"
#include "core/result.h"
#include "store/sql.h"

namespace sharewell::store {

// Within the caller's transaction.
core::Result<void> PutShared(Database& database, const std::vector<core::SharedRun>& shared);
// Of too many, the two users with most lose their oldest. In transactions of its own.
core::Result<void> TidyShared(Database& database);

}  // namespace sharewell::store
