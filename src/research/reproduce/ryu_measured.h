// Ryu and Chun's packing matrix and kernel table as we measured them on an H200.
#pragma once

#include "core/result.h"
#include "research/reproduce/reproduce.h"

namespace sharewell::research::reproduce {

// Epoch times packed over alone, of workloads of the paper's six kinds under MPS: the matrix
// (data/h200/packing.csv), its best and worst, the mean, and what an earlier sitting says of it.
core::Result<void> MeasuredPackingRows(Experiment& experiment);

// Table 1's device metrics of the same kinds, through Nsight Compute (data/h200/kernels.csv).
core::Result<void> KernelRows(Experiment& experiment);

}  // namespace sharewell::research::reproduce
