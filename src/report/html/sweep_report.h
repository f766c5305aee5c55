// What `sweep --out DIR` wrote as a page: the curves with their knees, every cell, what failed.
#pragma once

#include <string>
#include <string_view>

#include "study/measure/grid/sweep_result.h"

namespace sharewell::report {

std::string SweepPage(const study::SweepResult& result, std::string_view made);

}  // namespace sharewell::report
