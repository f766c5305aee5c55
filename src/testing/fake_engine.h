// FakeEngine: an engine that tells what it was scripted to tell and remembers what it was given.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace sharewell::fixtures {

class FakeEngine : public engine::Engine {
 public:
  // What the next Observe tells; after the last one it says that all is done.
  void Then(engine::Observation observation) { script_.push_back(std::move(observation)); }
  // What the next Apply answers, besides an unchanged time.
  void Answer(std::vector<engine::Progress> progress) { answers_.push_back(std::move(progress)); }

  bool Observe(std::optional<core::Seconds> wake, engine::Observation& out) override;
  void Apply(const core::Plan& plan, engine::Observation& out) override;

  std::vector<core::Plan> applied;
  std::vector<std::optional<core::Seconds>> wakes;  // as Observe was asked
  std::vector<std::string>* journal = nullptr;      // where set, calls are noted there, in order

 private:
  std::deque<engine::Observation> script_;
  std::deque<std::vector<engine::Progress>> answers_;
};

}  // namespace sharewell::fixtures
