// What pressures cost a job: table, CSV, JSON and the curve of speed against pressure.
#pragma once

#include <string>

#include "measure/sensitivity/sensitivity_result.h"

namespace sharewell::report {

std::string SensitivityTable(const measure::SensitivityResult& result);
std::string SensitivityCsv(const measure::SensitivityResult& result);
std::string SensitivityJson(const measure::SensitivityResult& result);
std::string SensitivitySvg(const measure::SensitivityResult& result);

}  // namespace sharewell::report
