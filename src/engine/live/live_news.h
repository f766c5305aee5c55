// LiveNews: what the live engine has yet to tell: ends and pauses to the loop, and to records and
// users all that happened.
#pragma once

#include <string>
#include <vector>

#include "core/renumbering.h"
#include "engine/engine.h"
#include "engine/live/ended.h"
#include "engine/run_events.h"

namespace sharewell::engine {

struct LiveNews {
  bool OwesLoop() const;  // something that is worth a turn
  void Note(RunEvent event);
  // A job is told by number where no id is valid; a turn takes it to the records.
  void EndBesideTheLoop(Ended end);
  void DropOffer(const std::string& node);  // that it came, which nobody has heard
  bool HasEndOf(core::JobId id) const;
  void Renumber(const core::Renumbering& ids);

  std::vector<core::JobId> finished = {}, failed = {}, out_of_memory = {}, requeued = {};
  std::vector<PausedJob> paused = {};
  std::vector<Ended> ended = {};
  std::vector<RunEvent> notes = {};
  bool turn = false;  // for a note, or an end beside the loop
};

}  // namespace sharewell::engine
