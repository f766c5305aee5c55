// fair: the user who has used least GPU time for his weight goes first, what was used a day ago
// counted half (core::kUsageHalfLife); within a user, another order. A GPU that a user's jobs hold,
// or are given in the same decision, counts as ten more minutes of use, so that GPUs that come free
// together are dealt out in turn. The other order's tail (order/drain.h) is that of the whole
// batch: it goes first, users in turn within it. With one user alone it is the other order. Never
// preempts.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

// REQUIRES: `within` does not preempt, and is not by user itself.
std::unique_ptr<Order> NewFairOrder(std::unique_ptr<Order> within);

}  // namespace sharewell::policy
