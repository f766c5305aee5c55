// What a job needs (core::Needs), as JSON: by itself in the API and in annotations of pods, and as
// a part of jobs and submissions.
#pragma once

#include <string>

#include "core/job/submission.h"
#include "core/result.h"
#include "json/reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace sharewell::json {

void WriteNeeds(Writer& writer, const core::Needs& needs);

// As a part of something: `place` ("needs.") stands before what is wrong, kept in `error`.
core::Needs ReadNeeds(Value json, const std::string& place, Trust trust, std::string& error);
// As somebody sent them.
core::Result<core::Needs> NeedsFromJson(Value json);

}  // namespace sharewell::json
