// Housekeeping: what is done between two turns whatever was decided: a look whether the store is
// still there, old jobs dropped from it, and ids given anew when most are of jobs that are over.
// The loop's thread.
#pragma once

#include <cstddef>
#include <optional>

#include "control/loop/loop.h"
#include "control/service/record/journal.h"
#include "control/service/service_state.h"
#include "core/renumbering.h"
#include "core/units.h"
#include "engine/live/live_engine.h"
#include "store/job_store.h"

namespace sharewell::control {

class Housekeeping {
 public:
  // What cannot be stored or read now is tried again after so long.
  static constexpr core::Seconds kStoreAgain{1};

  // All must outlive it.
  struct Parts {
    const ServiceState& state;
    store::JobStore& store;
    Journal& journal;
    Loop& loop;
    const engine::LiveEngine& engine;
    std::size_t few_ids;  // in the snapshot: not worth a look at who is over
  };
  explicit Housekeeping(const Parts& parts) : parts_(parts) {}

  void LookAtStore();
  void Tidy();
  // The ids that jobs are to have from now on; absent: those that they have.
  std::optional<core::Renumbering> NewIds();

 private:
  const Parts parts_;
  core::Seconds look_at_store_;  // whether it is still there
  core::Seconds tidy_at_;        // old jobs and events are dropped next
  std::size_t look_at_ids_ = 0;  // when so many were given: whether most are over
};

}  // namespace sharewell::control
