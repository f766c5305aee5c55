// What `sharewell doctor` found, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "study/measure/doctor/health.h"

namespace sharewell::report {

std::string HealthText(const std::vector<study::HealthRow>& rows);
std::string HealthJson(const std::vector<study::HealthRow>& rows);
std::string SecurityText(const std::vector<study::SecurityRow>& rows);
std::string SecurityJson(const std::vector<study::SecurityRow>& rows);

}  // namespace sharewell::report
