// Pushers: the training jobs that wait and may push others of lower priority out
// (core::Job::preempts), kept between decisions.
#pragma once

#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "core/plan.h"
#include "core/snapshot.h"
#include "policy/give_way.h"
#include "policy/ledger.h"
#include "policy/order/order.h"

namespace sharewell::policy {

class Pushers {
 public:
  using Place = std::function<Choice(const Ledger&, const core::JobView&)>;

  // Takes over a job's state after something happened to it.
  void Update(const core::JobView& view);
  // In this decision it found no place. Who waits for it is told once it is known whether others go
  // for it.
  void Refuse(core::JobId id, const core::Reason& why) { refused_.emplace_back(id, why); }
  // In turn: those that found no place, as long as somebody gives way. `dropped`: whom this plan
  // gives up.
  void PushOut(const core::Snapshot& snapshot, const Order& order, const Place& place,
               const std::function<bool(core::JobId)>& dropped, Ledger& ledger, core::Plan& plan);
  // Those that were refused, and why, said once.
  std::vector<std::pair<core::JobId, core::Reason>> TakeRefused() {
    return std::exchange(refused_, {});
  }

 private:
  void Blame(core::JobId other, core::JobId id);

  std::set<core::JobId> waiting_;
  std::vector<std::pair<core::JobId, core::Reason>> refused_;  // of this decision
};

}  // namespace sharewell::policy
