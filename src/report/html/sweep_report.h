// What `sweep --out DIR` wrote as a page: the curves with their knees, every cell, what failed.
#pragma once

#include <string>
#include <string_view>

#include "measure/grid/sweep_result.h"

namespace sharewell::report {

std::string SweepPage(const measure::SweepResult& result, std::string_view made);

}  // namespace sharewell::report
