// las: least attained service, in GPU seconds, preempting (Tiresias, Gu et al., NSDI 2019). Service
// is put into a few steps, within which jobs are first come first served: without them jobs alike
// would take turns for ever. Needs no durations.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewLasOrder();

}  // namespace sharewell::policy
