// A ProfileRecord as JSON text, as it lies in the store, and back.
#pragma once

#include <string>
#include <string_view>

#include "core/job/profile_record.h"
#include "core/result.h"

namespace sharewell::store {

// What is unknown is left out; numbers come back exactly, those that are not finite as absent or 0.
// Broken UTF-8 becomes U+FFFD. The id is not in it.
std::string ProfileToJson(const core::ProfileRecord& record);

// Any bytes. Keys it does not know are passed over: a newer program wrote them. A key of the wrong
// type is an error.
core::Result<core::ProfileRecord> ProfileFromJson(std::string_view text);

}  // namespace sharewell::store
