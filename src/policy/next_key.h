// When an order that preempts decides again although nothing happens, and when a plan asks for it.
#pragma once

#include <optional>

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/options.h"
#include "policy/order/order.h"

namespace sharewell::policy {

// The plan wakes at `at` or earlier.
void WakeBy(const std::optional<core::Seconds>& at, core::Plan& plan);

// While somebody waits: when the first of those who will run falls behind in the order, or may be
// paused.
std::optional<core::Seconds> NextKeyAt(const core::Snapshot& snapshot, const Order& order,
                                       const Options& options, const core::Plan& plan);

}  // namespace sharewell::policy
