// fair: the user who has used least GPU time so far goes first; within a user, first come first
// served. Never preempts.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewFairOrder();

}  // namespace sharewell::policy
