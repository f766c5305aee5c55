// An inspected model as text or JSON.
#pragma once

#include <string>

#include "advice/inspection.h"

namespace sharewell::report {

// The totals, the memory, the `costliest` most expensive layers, and every operator that could not
// be costed.
std::string InspectionTable(const advice::Inspection& inspection, std::size_t costliest);
std::string InspectionJson(const advice::Inspection& inspection);

}  // namespace sharewell::report
