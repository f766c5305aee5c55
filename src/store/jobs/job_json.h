// The JSON of jobs and submissions for those who read or write many: without a string for each.
#pragma once

#include <string>
#include <string_view>

#include "core/job/job_record.h"
#include "core/result.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace sharewell::store {

// As JobToJson. Without `with_environment` it is an empty object: what others than its owner may
// see.
void WriteJob(json::Writer& writer, const core::JobRecord& record, bool with_environment = true);
// What stands inside of it, for an object that has more.
void WriteJobMembers(json::Writer& writer, const core::JobRecord& record, bool with_environment);

// As JobToJson, without the members that are null or an empty list: as the store keeps it.
std::string StoredJob(const core::JobRecord& record);

// What a client sent, nested no deeper than anything of ours.
core::Result<json::Document> ParseSent(std::string_view text);

core::Result<core::JobRecord> JobFromJson(json::Value json);
core::Result<core::Submission> SubmissionFromJson(json::Value json);

}  // namespace sharewell::store
