// What jobs told of themselves goes after a day, also of nodes that are not there any more.
#pragma once

#include "core/metric.h"
#include "core/result.h"
#include "store/sql.h"

namespace sharewell::store {

core::Result<void> DropOldTold(Database& database, core::UnixMillis now);

}  // namespace sharewell::store
