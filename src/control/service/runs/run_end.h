// What the end of a run makes of its job's record. Pure.
#pragma once

#include <string>

#include "core/job/job_record.h"
#include "engine/live/live_engine.h"

namespace sharewell::control {

// "its time limit (90 s) is over"
std::string TimeIsOver(const core::JobRecord& record);
// "its neighbour job 12 broke the GPU under both"
std::string FallInWords(const engine::Fall& fall);
// Why a run ended, where more than its exit code is known; else empty.
std::string EndInWords(const engine::RunEnd& end, const core::JobRecord& record);
// One more run was lost under it (the machine or its supervisor went down, or a neighbour broke the
// GPU). After kMostLost in a row the job is held, with the reason: one that brings its machine down
// must not do so at every boot. REQUIRES: it waits.
constexpr int kMostLost = 3;
void CountLost(core::JobRecord& record);
// Phase, counts, run time, exit code and note. REQUIRES: the job is not over. An end of an attempt
// before the record's last (a move was decided meanwhile) changes what is true of the job alone.
void WriteEnd(const engine::Ended& ended, core::UnixMillis now, core::JobRecord& record);

}  // namespace sharewell::control
