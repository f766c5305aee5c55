// For tests of parity: what the loop decides over one case, as text, whatever engine carries it
// out.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "control/loop/loop.h"
#include "testing/plan_text.h"
#include "testing/policies.h"
#include "testing/random_case.h"

namespace sharewell::control {

class ExactEstimator : public Estimator {
 public:
  explicit ExactEstimator(const fixtures::Case& c) : case_(c) {}
  core::Estimate Believe(const core::Job& job) const override {
    return sim::Believe(job, case_.truth[job.id.index()], case_.belief);
  }
  core::Estimate Measured(const core::Job& job) override {
    return sim::Measured(job, case_.truth[job.id.index()], case_.belief);
  }

 private:
  const fixtures::Case& case_;
};

class DecisionLog : public Recorder {
 public:
  core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) override {
    const std::string actions = fixtures::ActionsOf(plan) + fixtures::WaitsOf(plan);
    if (!actions.empty()) text += fmt::format("{}\n{}", snapshot.now().value, actions);
    stops += plan.stops.size();
    moves += plan.moves.size();
    for (const auto& start : plan.starts) profiles += start.profile ? 1U : 0U;
    return {};
  }
  void OnDecision(core::Seconds) override {}
  std::string text;
  std::size_t stops = 0, moves = 0, profiles = 0;
};

inline DecisionLog Decide(const fixtures::Case& c, const std::string& name,
                          engine::Engine& engine) {
  policy::Options options;
  options.interference = &c.interference;
  const auto policy = fixtures::MakePolicy(name, options);
  core::Snapshot snapshot(c.cluster, core::Seconds(30));
  ExactEstimator estimator(c);
  DecisionLog log;
  Loop loop(snapshot, *policy, engine, estimator, log);
  for (int turn = 0; turn < 100'000; ++turn) {
    const auto more = loop.Turn();
    EXPECT_TRUE(more) << more.error().message;
    if (!more || !*more) return log;
  }
  ADD_FAILURE() << "it does not end";
  return log;
}

}  // namespace sharewell::control
