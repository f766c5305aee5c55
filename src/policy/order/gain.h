// gain: who gains most from the better GPU goes first (Takayama et al., section IV.D). The gain of
// a job is its believed rate on the best GPU model it may use over that on the worst.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewGainOrder();

core::Ratio GainOf(const core::Snapshot& snapshot, const core::JobView& view);

}  // namespace sharewell::policy
