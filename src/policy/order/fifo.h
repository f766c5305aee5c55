// fifo: as they were submitted. Never preempts.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewFifoOrder();

}  // namespace sharewell::policy
