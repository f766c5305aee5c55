// One profile: what it needs, what bounds it, how steady it was, and where it was measured.
#pragma once

#include <string>
#include <vector>

#include "advice/prediction.h"
#include "core/job/profile_record.h"

namespace sharewell::report {

// A screenful for a person.
std::string ProfileRecordText(const core::ProfileRecord& record);

// Everything: one object for each, in "profiles". Units in the keys; null is unknown.
std::string ProfileRecordsJson(const std::vector<core::ProfileRecord>& records);

// Measured beside predicted, figure by figure: those that are known on both sides.
std::string PredictedBeside(const core::ProfileRecord& record, const advice::PredictionRow& row);

}  // namespace sharewell::report
