// LiveStays: runs that were told to stop and whose manager does not allow it now (a
// PodDisruptionBudget): they run on at their place, and whoever was to have it waits, or takes
// another's.
#pragma once

#include "engine/live/live_book.h"
#include "engine/live/live_starts.h"
#include "engine/live/live_stops.h"

namespace sharewell::engine {

class LiveStays {
 public:
  LiveStays(LiveBook& book, LiveStarts& starts, LiveStops& stops)
      : book_(book), starts_(starts), stops_(stops) {}

  void Handle(const StopRefused& event);
  void StopAgainWhatIsDue();
  bool Owes() const;            // somebody stays, or may be stopped again
  void TakeBack();              // before ends are told: who was to have their place does not
  void Emit(Observation& out);  // after them

 private:
  void TakeBack(core::JobId id, JobEntry& job);
  void GiveUpStartsOn(const Attempt& run);

  LiveBook& book_;
  LiveStarts& starts_;
  LiveStops& stops_;
};

}  // namespace sharewell::engine
