// From the journal to chunks: a minute that is over.
#pragma once

#include <cstddef>
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

// How much there was, and the most of it that was held in memory at a time.
struct Compacted {
  std::size_t series = 0;  // in all minutes
  std::size_t most_at_once = 0;
};

// Makes chunks of what the journal has of these minutes of a node, of what is given here, and of
// the chunks that are there already; of several points of one time the newest stays. The hours
// touched are marked for Tidy. A damaged chunk or segment gives what can be read of it and is
// replaced: it must not keep new samples out. A minute may have the series of thousands of short
// jobs: they are taken in pieces, so that memory is bounded.
core::Result<Compacted> Compact(Database& database, const std::string& node,
                                const Minutes& minutes);

// Every minute of the journal that is before `minute`, of all nodes.
core::Result<void> CompactBefore(Database& database, std::int64_t minute);

}  // namespace sharewell::store
