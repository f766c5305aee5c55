// A policy composed of an order, a placement and a sizing. Non-preempting orders fill what is free,
// in turn, passing over who does not fit; preempting ones choose who should run from an empty
// cluster and stop, move and start as little as that takes.
//
// Nobody starves under a non-preempting order: a job overtaken by one submitted a day later is
// tried first, and where it still does not fit, the nodes that are believed to be free for it
// soonest are kept for it: only jobs believed to end before that may still be put there
// (backfilling as in EASY, Lifka 1995; one such job at a time, the oldest). `makes_room` keeps
// nodes for several, and sooner (reservations.h).
//
// Where projects reclaim, a job of one below its share that found no place has that of jobs of
// projects above theirs (taking_back.h).
//
// CPU-only jobs come after training jobs, on the node with the most cores left. Under a slimming
// sizing a job that was measured while it runs is given the cores that it was seen to use.
#pragma once

#include <memory>
#include <string>

#include "policy/options.h"
#include "policy/order/order.h"
#include "policy/placement/placement.h"
#include "policy/policy.h"
#include "policy/sizing/sizing.h"

namespace sharewell::policy {

// `misses`: how many of a class may find no place before the rest of it is left for a later
// decision. `makes_room`: REQUIRES an order that does not preempt.
std::unique_ptr<Policy> Compose(std::string name, std::unique_ptr<Order> order,
                                std::unique_ptr<Placement> placement,
                                std::unique_ptr<Sizing> sizing, Options options, int misses = 4,
                                bool makes_room = false);

}  // namespace sharewell::policy
