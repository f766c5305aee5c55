// What came of timm's benchmark, as text or JSON.
#pragma once

#include <string>

#include "research/evaluate/timm.h"

namespace sharewell::research {

std::string TimmText(const TimmErrors& errors);
std::string TimmJson(const TimmErrors& errors);

}  // namespace sharewell::research
