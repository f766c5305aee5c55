// What holds a job, and who cancelled it, as JSON (docs/formats/jobs.md): an object with its "kind"
// and what the kind has.
#pragma once

#include <optional>

#include "core/job/job_record.h"
#include "json/reader.h"
#include "json/writer.h"

namespace sharewell::store {

// The members "hold", "cancelled" and "cancelled_by" of a job.
void WriteHold(json::Writer& writer, const core::JobRecord& job);
// What is not there leaves the job as it was.
void ReadHold(json::Reader& reader, core::JobRecord& job);

}  // namespace sharewell::store
