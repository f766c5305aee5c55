// Kinds of run events by name, so that tests can compare and print them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/run_events.h"

namespace sharewell::fixtures {

// As RunEvent has them.
inline constexpr std::array<const char*, std::variant_size_v<engine::RunEvent>> kRunEventNames = {
    "RunStarted",   "StartRefused", "RunProgress",   "RunMetrics",  "TimeLimitReached",
    "RunEnded",     "StopRefused",  "RunNote",       "RunTold",     "RunPaused",
    "PauseRefused", "RunResumed",   "ResumeRefused", "RunnerNote",  "GpuLost",
    "GpuBack",      "NodeCame",     "NodeWent",      "RunsListed",  "JobSubmitted",
    "JobWithdrawn", "TermsChanged", "NeedsKnown",    "NodeChanged", "GpuTaken",
    "HostTaken"};

inline std::string NameOf(const engine::RunEvent& event) { return kRunEventNames[event.index()]; }
template <class Event>
std::string NameOf() {
  return NameOf(engine::RunEvent(Event{}));
}
template <class... Events>
std::vector<std::string> NamesOf() {
  return {NameOf<Events>()...};
}

// The job that an event is about; 0: none.
inline std::int64_t JobOf(const engine::RunEvent& event) {
  return std::visit(
      [](const auto& one) -> std::int64_t {
        if constexpr (requires { one.id.job; }) {
          return one.id.job;
        } else if constexpr (requires { one.job; }) {
          return one.job;
        } else {
          return 0;
        }
      },
      event);
}

inline std::vector<std::string> NamesOf(const std::vector<engine::RunEvent>& events) {
  std::vector<std::string> names;
  for (const engine::RunEvent& event : events) names.push_back(NameOf(event));
  return names;
}
// Of those that are about that job.
inline std::vector<std::string> NamesOf(const std::vector<engine::RunEvent>& events,
                                        std::int64_t job) {
  std::vector<std::string> names;
  for (const engine::RunEvent& event : events) {
    if (JobOf(event) == job) names.push_back(NameOf(event));
  }
  return names;
}

template <class Event>
std::vector<Event> AllOf(const std::vector<engine::RunEvent>& events) {
  std::vector<Event> all;
  for (const engine::RunEvent& event : events) {
    if (const auto* one = std::get_if<Event>(&event)) all.push_back(*one);
  }
  return all;
}
// Where there is none, the test fails.
template <class Event>
Event FirstOf(const std::vector<engine::RunEvent>& events) {
  const std::vector<Event> all = AllOf<Event>(events);
  if (!all.empty()) return all.front();
  ADD_FAILURE() << "no " << NameOf<Event>() << " among " << events.size() << " events";
  return {};
}

}  // namespace sharewell::fixtures
