// lifo: the newest job first. The smallest policy there is: an order, one pair of files. To make it
// part of Sharewell, put the pair into src/policy/order/, list lifo.cc in src/policy/CMakeLists.txt
// and add one line to kOrders in src/policy/registry.cc:
//   {"lifo", "the newest job first", "", NewLifoOrder},
// Then `--policy lifo`, `lifo+pack` and `lifo+share+slim` work, and help, completion and the
// property tests know it too.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewLifoOrder();

}  // namespace sharewell::policy
