// Policy: a pure function from what is known to what should be done. It sees a snapshot (estimates
// and observations, never truth), what changed since it last looked, and a memo that is its private
// scratch: the law, tested for every policy, is that an empty memo gives the same plan. What is
// believed of interference may have changed since: a memo keeps nothing that was made of it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

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
  // The waiting jobs in the turn in which they are tried. Who is passed over, because there is no
  // place for it now, does not lose its turn.
  struct Turns {
    std::vector<core::JobId> jobs;
    bool by_user = false;              // users by what they used come before what is known of jobs
    std::vector<bool> has_share = {};  // by project; empty: none counts
  };
  virtual Turns InTurn(const core::Snapshot& snapshot) const;

  // REQUIRES: memo was made by this policy, and saw every change of the snapshot before
  // `since_last`, or is new.
  virtual core::Plan Decide(const core::Snapshot& snapshot,
                            std::span<const core::Change> since_last, Memo& memo) const = 0;
};

}  // namespace sharewell::policy
