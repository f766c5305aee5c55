// Stored profiles by what people type: an id, or a name.
#pragma once

#include <string>
#include <vector>

#include "core/job/profile_record.h"
#include "core/result.h"
#include "store/store.h"

namespace sharewell::cli {

void SortByAge(std::vector<core::ProfileRecord>& records);  // oldest first

// Those that a word names, oldest first; at least one, else an error that shows the nearest name.
// `command` begins that message.
core::Result<std::vector<core::ProfileRecord>> NamedProfiles(store::ProfileStore& store,
                                                             const std::string& word,
                                                             store::ProfileFilter filter,
                                                             const std::string& command);

}  // namespace sharewell::cli
