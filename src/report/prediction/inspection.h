// An inspected model as text or JSON.
#pragma once

#include <string>

#include "study/prediction/inspection.h"

namespace sharewell::report {

// The totals, the memory, the `costliest` most expensive layers, and every operator that could not
// be costed.
std::string InspectionTable(const study::Inspection& inspection, std::size_t costliest);
std::string InspectionJson(const study::Inspection& inspection);

}  // namespace sharewell::report
