// srtf: shortest remaining time first, preempting. A running job is ahead by what stopping it would
// cost, so that two alike do not take turns. Can keep a long job waiting while short ones keep
// coming: that is the order, use las, fair or sharewell where it matters.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewSrtfOrder();

}  // namespace sharewell::policy
