// cells.csv, as a sweep writes it (report/measure/grid/sweep.h), read back: the cells of a sweep
// without its spec. Pure.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "measure/grid/sweep_result.h"

namespace sharewell::measure {

// With curves, knees and profiles drawn. What the file does not hold stays empty: how many cores
// the machine has, notes, whether it was interrupted. `file` stands in messages.
core::Result<SweepResult> ReadSweepCells(std::string_view csv, const std::string& file);

}  // namespace sharewell::measure
