// The packing matrix: what each pair costs the one that stands in the row. For report/colocate*.cc.
#pragma once

#include <optional>
#include <vector>

#include "measure/grid/colocate_result.h"

namespace sharewell::report {

struct PackingCell {
  bool measured = false;
  bool fits = true;
  std::optional<double> slowdown;  // of the row's workload
};

// By row, then column; both as ColocateResult::alone. Of one with itself: the mean of the two.
// Empty: there are no pairs.
std::vector<std::vector<PackingCell>> PackingMatrix(const measure::ColocateResult& result);

}  // namespace sharewell::report
