// sjf: shortest job first, by believed duration; never preempts. Unknown durations: least attained
// service, which among jobs that never ran is fifo.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewSjfOrder();

}  // namespace sharewell::policy
