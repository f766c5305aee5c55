// LiveHearing: what the runner tells, one kind of event after the other, and what it means for the
// jobs that the engine knows. Answers may be late, doubled, or after younger ones; those that were
// lost are found again in the lists of all that is there.
#pragma once

#include <concepts>
#include <optional>

#include "engine/live/live_book.h"
#include "engine/live/live_pauses.h"
#include "engine/live/live_starts.h"
#include "engine/live/live_stays.h"
#include "engine/live/live_stops.h"

namespace sharewell::engine {

// Nothing here depends on these: they are for records and users.
template <class Event>
concept OnlyNoted = std::same_as<Event, TimeLimitReached> || std::same_as<Event, RunNote> ||
    std::same_as<Event, RunTold> || std::same_as<Event, RunnerNote> ||
    std::same_as<Event, JobSubmitted> || std::same_as<Event, JobWithdrawn> ||
    std::same_as<Event, TermsChanged> || std::same_as<Event, NeedsKnown> ||
    std::same_as<Event, NodeChanged> || std::same_as<Event, GpuTaken> ||
    std::same_as<Event, HostTaken>;

class LiveHearing {
 public:
  LiveHearing(LiveBook& book, LiveStarts& starts, LiveStops& stops, LivePauses& pauses,
              LiveStays& stays)
      : book_(book), starts_(starts), stops_(stops), pauses_(pauses), stays_(stays) {}

  void Hear(const RunEvent& event) {
    std::visit([this](const auto& one) { Handle(one); }, event);
  }

 private:
  template <OnlyNoted Event>
  void Handle(const Event& event) {
    book_.news.Note(event);
  }
  void Handle(const RunStarted& event);
  void Handle(const StartRefused& event);
  void Handle(const RunProgress& event);
  void Handle(const RunMetrics& event);
  void Handle(const RunEnded& event);
  void Handle(const StopRefused& event) { stays_.Handle(event); }
  void Handle(const RunPaused& event) { pauses_.Handle(event); }
  void Handle(const PauseRefused& event) { pauses_.Handle(event); }
  void Handle(const RunResumed& event) { pauses_.Handle(event); }
  void Handle(const ResumeRefused& event) { pauses_.Handle(event); }
  void Handle(const GpuLost& event);
  void Handle(const GpuBack& event);
  void Handle(const NodeCame& event);
  void Handle(const NodeWent& event);
  void Handle(const RunsListed& list);
  void Compare(RunId id, Attempt& run, const RunsListed::Item* listed);
  void EmitEnd(core::JobId id, JobEntry& job, const Attempt& run, Outcome outcome,
               const RunEnd& end);

  LiveBook& book_;
  LiveStarts& starts_;
  LiveStops& stops_;
  LivePauses& pauses_;
  LiveStays& stays_;
  std::optional<core::Seconds> listed_;  // as of when the youngest list was that was heard
};

}  // namespace sharewell::engine
