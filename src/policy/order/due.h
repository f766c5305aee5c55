// due: the order of the policy `sharewell`. Each job has a time by which it should go, and the
// earliest goes first: its submission, and kPatience times what it has left. So the short go before
// the long, and nobody is overtaken by who comes much later: a job of an hour by none that is
// submitted five hours after it. While the queue is short, what a job has left counts up to an
// hour: the long ones gain nothing from each other's waiting, and go in the order in which they
// came. The longer the queue, the higher that limit is: where it is long for days, due times lie
// far in the past and would be no more than the order of submission.
//
// A user who has used much is due later: of those who wait, who used most (for his weight; what was
// used a day ago counts half, core::kUsageHalfLife) by kUserDelay, the others in proportion. A GPU
// in hand, or given in the same decision, counts as ten more minutes of use, so that GPUs that come
// free together are dealt out in turn.
//
// Before all that, a user whose jobs hold less than an equal share of the GPUs, among the users who
// wait, goes before those who hold as much: who submits a thousand jobs makes nobody wait for all
// of them.
//
// Where nobody else is expected (a batch) only what a job has left counts: the jobs so long that
// the end would hang on them go first (order/drain.h), then the shortest. Never preempts. Equals go
// by submission and id. Assumes that believed durations are right within a factor; unknown ones
// count as ten minutes, or as long as the job has run already.
#pragma once

#include <memory>

#include "policy/order/order.h"

namespace sharewell::policy {

std::unique_ptr<Order> NewDueOrder();

}  // namespace sharewell::policy
