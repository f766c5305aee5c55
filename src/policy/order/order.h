// Order: who is next. Lower keys go first; priority goes before every key, then submission, then
// id.
#pragma once

#include <limits>
#include <optional>

#include "core/snapshot.h"

namespace sharewell::policy {

class Order {
 public:
  virtual ~Order() = default;
  // A waiting job's key must not change while it waits, except through UserKey and Stage.
  virtual double Key(const core::Snapshot& snapshot, const core::JobView& view) const = 0;
  // Keys may hang on how many wait, through this number alone: when it changes, all are worked out
  // anew.
  virtual int Stage(const core::Snapshot&) const { return 0; }
  // Jobs whose key is at least this go first, largest first.
  virtual double TailFrom(const core::Snapshot&) const {
    return std::numeric_limits<double>::infinity();
  }
  // True: running jobs are ordered too, and may be stopped for one before them.
  virtual bool Preempts() const { return false; }
  // Preempting orders: when a job that runs from now on gets another key merely by running.
  virtual std::optional<core::Seconds> NextKeyIn(const core::Snapshot&,
                                                 const core::JobView&) const {
    return std::nullopt;
  }
  // True: jobs are ordered by their user's key first, which may change at any time. Not below 0.
  virtual bool ByUser() const { return false; }
  // Above 0, and by user: outside the tail the user's key is added to the job's instead, scaled so
  // that the largest of those who wait adds so much.
  virtual double UserKeyAdds() const { return 0; }
  // By user: while a user's jobs hold less than an equal share of the GPUs among the users who
  // wait, they go before the jobs of all who hold as much.
  virtual bool EqualShareFirst() const { return false; }
  virtual double UserKey(const core::Snapshot&, core::UserId) const { return 0; }
  // What a job adds to its user's key, within the decision that gives it a place. Not negative.
  virtual double Charge(const core::JobView&) const { return 0; }
};

// Work left as believed. A job of unknown length is expected to run as long again as it already
// has, ten minutes at least (durations are heavy-tailed), so that orders by length fall back to
// least attained service.
double ExpectedRemaining(const core::Snapshot& snapshot, const core::JobView& view);

}  // namespace sharewell::policy
