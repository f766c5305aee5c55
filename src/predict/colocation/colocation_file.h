// ColocationModel as JSON text: part of what `sharewell-lab train` writes and `predict` reads. The
// same value gives the same text, and one that was written and read answers the same bits. Reading
// trusts nothing: what is missing, unknown or out of range is an error that says what.
//
// {"format": "sharewell-together", "version": 2, "repeat",
//  "coefficients": {"host", ... as interference::Coefficients},
//  "residents": [{"workload", "batch", "precision", "workers", "busy", "sm", "dram", "cores",
//                 "step", and where known "kernel"; where it was limited "sm_share"}, ...],
//  "companies": [{"who": [place, ...], "speeds": [...], "times"}, ...],
//  "of_measured": C, "of_predicted": C}, with C a calibration (learn/serialize.h), or null
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "json/value.h"
#include "predict/colocation/colocation.h"

namespace sharewell::predict {

std::string Write(const ColocationModel& together);
core::Result<ColocationModel> ReadColocations(std::string_view text);
// The same from JSON that is parsed already, as part of a larger file: `place` is where in it.
core::Result<ColocationModel> ColocationFromJson(json::Value value, const std::string& place = "");

}  // namespace sharewell::predict
