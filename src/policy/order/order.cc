#include "policy/order/order.h"

#include <algorithm>

namespace sharewell::policy {

double ExpectedRemaining(const core::Snapshot& snapshot, const core::JobView& view) {
  if (const auto left = snapshot.remaining(view)) return left->value;
  return std::max(600.0, snapshot.attained(view).value);
}

}  // namespace sharewell::policy
