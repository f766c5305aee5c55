// What came of timm's benchmark, as text or JSON.
#pragma once

#include <string>

#include "study/prediction/evaluate/timm.h"

namespace sharewell::report {

std::string TimmText(const study::TimmErrors& errors);
std::string TimmJson(const study::TimmErrors& errors);

}  // namespace sharewell::report
