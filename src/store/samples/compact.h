// From the journal to chunks: a minute that is over.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "store/samples/segment.h"
#include "store/sql.h"

namespace sharewell::store {

// Points by minute, each minute's slices by series.
using Minutes = std::map<std::int64_t, std::vector<Slice>>;

// Makes chunks of what the journal has of these minutes of a node, of what is given here, and of
// the chunks that are there already; of several points of one time the newest stays. The hours
// touched are marked for Tidy. A damaged chunk or segment gives what can be read of it and is
// replaced: it must not keep new samples out.
core::Result<void> Compact(Database& database, const std::string& node, const Minutes& minutes);

// Every minute of the journal that is before `minute`, of all nodes.
core::Result<void> CompactBefore(Database& database, std::int64_t minute);

}  // namespace sharewell::store
