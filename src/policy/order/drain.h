// drain: an order for batches, and what order/due.h takes the end of one from. Jobs so long that
// they would outlast everything else go first, longest first, so that the end does not hang on
// them; all others shortest first, so that few wait long. A job is that long when what it has left
// is at least the believed work of all, over three jobs on every GPU: the quickest in which
// everything can be done. While much is waiting hardly any job is; as the queue drains the long
// ones are. Where more jobs are expected before that (a stream, not a batch) there is no end to
// hang on, and all go shortest first. Never preempts. Unknown durations: least attained service.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewDrainOrder();

// Seconds left from which a job belongs to the tail; infinite while more jobs are expected.
double DrainTail(const core::Snapshot& snapshot);

// Submissions a second, from the last ten instants at which there were any; 0 before the second.
double ArrivalRate(const core::Snapshot& snapshot);

}  // namespace sharewell::policy
