// Policy: a pure function from what is known to what should be done. It sees a snapshot (estimates
// and observations, never truth), what changed since it last looked, and a memo that is its private
// scratch: the law, tested for every policy, is that an empty memo gives the same plan.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/plan.h"
#include "core/snapshot.h"

namespace sharewell::policy {

// Whatever a policy remembers to be quick. Owned by the loop, made by the policy.
class Memo {
 public:
  virtual ~Memo() = default;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual const std::string& Name() const = 0;
  virtual std::unique_ptr<Memo> NewMemo() const = 0;
  // REQUIRES: memo was made by this policy, and saw every change of the snapshot before
  // `since_last`, or is new.
  virtual core::Plan Decide(const core::Snapshot& snapshot,
                            std::span<const core::Change> since_last, Memo& memo) const = 0;
};

}  // namespace sharewell::policy
