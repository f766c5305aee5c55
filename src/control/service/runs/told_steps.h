// ToldSteps: what running jobs tell of themselves from inside: it is read elsewhere, and what it
// says is believed of the job from then on, so that others may join it. What was seen of the job
// itself stays. The loop's thread.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "control/loop/loop.h"
#include "control/service/advisor.h"
#include "control/service/record/journal.h"
#include "control/service/runs/pace_watch.h"
#include "control/service/runs/told_reader.h"
#include "control/service/service_state.h"
#include "core/job/told.h"
#include "core/result.h"
#include "engine/runner.h"

namespace sharewell::control {

class ToldSteps {
 public:
  // All must outlive it. `reader` may be null: nothing is read.
  struct Parts {
    ServiceState& state;
    Journal& journal;
    PaceWatch& paces;
    Loop& loop;
    Advisor& advisor;
    ToldReader* reader;
    std::function<void(std::function<void()>)> later;  // on the loop's thread; from any
  };
  explicit ToldSteps(Parts parts) : parts_(std::move(parts)) {}

  void Hear(const engine::RunTold& event);
  // It has ended well before its step was read: that is learnt when it was.
  void Ended(const core::JobRecord& record, const core::Profile& seen);

 private:
  struct Ending {
    core::JobRecord record;
    core::Profile seen;
  };
  struct Reading {
    int under_way = 0;
    std::optional<Ending> ending;
  };
  void TakeRead(engine::RunId run, core::Result<core::Told> told);
  void Believe(LiveJob& job);
  // Those of the same script that wait and of which nothing is known: an array is submitted before
  // its first element tells.
  void UpdateSiblings(const core::JobRecord& of);
  void LearnLate(Ending ending, core::Told told);

  const Parts parts_;
  std::map<engine::RunId, Reading> reading_;
};

}  // namespace sharewell::control
