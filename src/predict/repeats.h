// Rows of one workload as one. What a loop needs is measured with an error that is mostly its
// host's; the middle of several rows has less of it.
#pragma once

#include <span>
#include <vector>

#include "predict/train.h"

namespace sharewell::predict {

// The same workload, batch, precision, optimizer, loader processes, GPU model and number of
// operators make one row: the median of every figure and of the host's speed. In the order of their
// last rows.
std::vector<Row> MergeRepeats(std::span<const Row> rows);

}  // namespace sharewell::predict
