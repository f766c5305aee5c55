// A Slurm site's own history: what `sacct --parsable2` prints of the fields that are named here
// (docs/formats/sacct.md). What is not known, and what is assumed, stands in the trace's remarks.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "trace/trace_job.h"

namespace sharewell::trace {

// For `sacct --format=`. No field holds words of a user's own, as a job's name does: those may hold
// the character that parts the fields.
inline constexpr std::string_view kSacctFields =
    "JobID,User,Partition,State,Submit,Start,ElapsedRaw,AllocCPUS,ReqTRES,AllocTRES,MaxRSS";

bool DetectSacct(std::string_view text);
core::Result<Trace> ReadSacct(std::string_view text, const std::string& name);
// Only jobs of this partition; empty: all.
core::Result<Trace> ReadSacct(std::string_view text, const std::string& name,
                              const std::string& partition);

}  // namespace sharewell::trace
