// decreasing: the largest predicted utilisation first, as first-fit decreasing packs (Yeung et
// al.).
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewDecreasingOrder();

}  // namespace sharewell::policy
