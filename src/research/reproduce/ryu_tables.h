// Ryu and Chun's table 1 and figure 1 with ours in them, and whether the finer of its metrics would
// tell our model of sharing more.
#pragma once

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

// Table 1 whole, and figure 1's matrix. REQUIRES: the rows kernels_* and measured_* are there.
core::Result<void> RyuTables(Experiment& experiment);

// The error of our model of sharing on the measured packing pairs, and what is left of it when the
// pair's L2 or DRAM throughput may correct it, workload by workload held out.
core::Result<void> FinerMetricRows(Experiment& experiment);

}  // namespace sharewell::research::reproduce
