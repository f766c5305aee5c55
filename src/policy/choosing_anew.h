// Choosing anew: for orders that preempt. Who should run is decided as if the cluster were empty,
// and then brought about with the least change.
//
// Why from an empty cluster: an order that preempts says at every moment who is worth a GPU, and
// those who run have no claim by running. Filling only what is free would keep whoever came first.
// Why the least change then: a stop loses work, or costs a pause, and a move costs both; so who is
// chosen and runs already stays where it is if the others find places beside it.
#pragma once

#include <functional>
#include <optional>

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/ledger.h"
#include "policy/options.h"
#include "policy/order/order.h"
#include "policy/placement/placement.h"

namespace sharewell::policy {

struct ChooseAnewFrom {
  const core::Snapshot& snapshot;
  const Order& order;
  const Options& options;
  std::function<Ledger()> everybody;  // where they are now
  std::function<Choice(const Ledger&, const core::JobView&)> place;
  // Why no node with room on it has the host memory; absent: that is not what is short.
  std::function<std::optional<core::Reason>(const Ledger&, const core::JobView&)> no_memory;
  std::function<bool(core::JobId)> dropped;  // this plan gives it up
  std::function<void(core::JobId, const core::Reason&)> waits;
};

// Adds starts, stops, moves and resizes to the plan; the ledger has them then.
void ChooseAnew(const ChooseAnewFrom& from, Ledger& ledger, core::Plan& plan);

}  // namespace sharewell::policy
