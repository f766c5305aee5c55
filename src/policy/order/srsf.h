// srsf: shortest remaining service (time x GPUs) first, preempting; as Tiresias and Muri use it.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewSrsfOrder();

}  // namespace sharewell::policy
