// What `sharewell doctor` found, as text and JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "measure/doctor/health.h"

namespace sharewell::report {

// What all rows come to, in one sentence: "ready to share 2 GPUs; 2 things to improve: cgroup, host
// probe". To be improved are the rows with something to mend.
std::string Verdict(const std::vector<measure::HealthRow>& rows);
// Ends with the verdict. Sentences are wrapped to `width`; what mends a row is never broken.
std::string HealthText(const std::vector<measure::HealthRow>& rows, std::size_t width = 100);
std::string HealthJson(const std::vector<measure::HealthRow>& rows);
std::string SecurityText(const std::vector<measure::SecurityRow>& rows, std::size_t width = 100);
std::string SecurityJson(const std::vector<measure::SecurityRow>& rows);

}  // namespace sharewell::report
