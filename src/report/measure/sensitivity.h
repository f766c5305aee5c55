// What pressures cost a job: table, CSV, JSON and the curve of speed against pressure.
#pragma once

#include <string>

#include "study/measure/sensitivity/sensitivity_result.h"

namespace sharewell::report {

std::string SensitivityTable(const study::SensitivityResult& result);
std::string SensitivityCsv(const study::SensitivityResult& result);
std::string SensitivityJson(const study::SensitivityResult& result);
std::string SensitivitySvg(const study::SensitivityResult& result);

}  // namespace sharewell::report
