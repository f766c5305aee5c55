// The JSON of jobs for those who write many: without a string for each.
#pragma once

#include <string>

#include "core/job_record.h"

namespace sharewell::store {

// As JobToJson, at the end of `out`. Without `with_environment` it is an empty object: what others
// than its owner may see.
void AppendJob(std::string& out, const core::JobRecord& record, bool with_environment = true);

// As JobToJson, without the members that are null or an empty list: as the store keeps it.
std::string StoredJob(const core::JobRecord& record);

// The "needs" of a job or submission.
void AppendNeeds(std::string& out, const core::Needs& needs);

}  // namespace sharewell::store
