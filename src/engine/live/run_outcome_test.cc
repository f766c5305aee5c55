#include "engine/live/run_outcome.h"

#include <gtest/gtest.h>

namespace sharewell::engine {
namespace {

using Why = Attempt::Why;

JobEntry Running(std::optional<Why> leaves = {}) {
  JobEntry job;
  job.run.emplace();
  job.run->request.asked.requeue = true;
  job.run->leaves = leaves;
  job.run->was_told = leaves.has_value();
  return job;
}

Outcome Of(const JobEntry& job, const RunEnd& end) { return OutcomeOf(job, end, 1); }

TEST(RunOutcome, OfOneThatWasNotToldToEnd) {
  const JobEntry job = Running();
  EXPECT_EQ(Of(job, {.exit_code = 0}), Outcome::kFinished);
  EXPECT_EQ(Of(job, {.exit_code = 1}), Outcome::kFailed);
  EXPECT_EQ(Of(job, {.exit_code = 143, .timed_out = true}), Outcome::kFailed);
  EXPECT_EQ(Of(job, {.refused = true}), Outcome::kRequeued);
  EXPECT_EQ(Of(job, {.exit_code = 137, .lost = true}), Outcome::kRequeued);
  EXPECT_EQ(Of(job, {.exit_code = 143, .stopped = true}), Outcome::kRequeued);
  JobEntry once = Running();
  once.run->request.asked.requeue = false;
  EXPECT_EQ(Of(once, {.exit_code = 137, .lost = true}), Outcome::kFailed);
}

TEST(RunOutcome, OfOneThatWasToldToEnd) {
  EXPECT_EQ(Of(Running(Why::kPlan), {.exit_code = 0}), Outcome::kFinished) << "by itself, before";
  EXPECT_EQ(Of(Running(Why::kPlan), {.exit_code = 0, .stopped = true}), Outcome::kRequeued);
  EXPECT_EQ(Of(Running(Why::kRequeue), {.exit_code = 143}), Outcome::kRequeued);
  EXPECT_EQ(Of(Running(Why::kRequeue), {.exit_code = 143, .timed_out = true}), Outcome::kFailed);
  EXPECT_EQ(Of(Running(Why::kFail), {.exit_code = 143}), Outcome::kFailed);
  JobEntry terminal = Running(Why::kPlan);
  terminal.run->request.asked.terminal = true;
  EXPECT_EQ(Of(terminal, {.exit_code = 143}), Outcome::kFailed);
}

TEST(RunOutcome, OutOfMemoryIsTriedAgainSoOftenAndAlone) {
  const RunEnd full{.exit_code = 1, .out_of_memory = true};
  JobEntry job = Running();
  EXPECT_EQ(Of(job, full), Outcome::kOutOfMemory);
  job.ooms = 1;
  EXPECT_EQ(Of(job, full), Outcome::kFailed);
  JobEntry earlier = Running();
  earlier.exclusive = true;  // though its user did not ask for it
  EXPECT_EQ(Of(earlier, full), Outcome::kFailed);
  earlier.run->request.asked.exclusive = true;
  EXPECT_EQ(Of(earlier, full), Outcome::kOutOfMemory);
}

TEST(RunOutcome, AGuestThatRunsOutOfMemoryIsTriedAgainOnceMore) {
  const RunEnd full{.exit_code = 1, .out_of_memory = true};
  JobEntry job = Running();
  job.run->request.guest_memory = core::GiB(31);
  EXPECT_EQ(Of(job, full), Outcome::kOutOfMemory);
  job.ooms = 1;
  EXPECT_EQ(Of(job, full), Outcome::kOutOfMemory) << "whatever it did as no guest";
  job.request.guest_oom = core::GiB(31);
  EXPECT_EQ(Of(job, full), Outcome::kFailed) << "the second counts as an ordinary one";
  job.ooms = 0;
  EXPECT_EQ(Of(job, full), Outcome::kOutOfMemory);
  job = Running();
  job.run->request.guest_memory = core::GiB(31);
  job.run->request.asked.terminal = true;
  EXPECT_EQ(Of(job, full), Outcome::kFailed);
}

TEST(RunOutcome, WhoFellWithOthersIsTriedAgain) {
  RunEnd end{.exit_code = 1};
  end.fall = Fall{};
  EXPECT_EQ(Of(Running(), end), Outcome::kRequeued);
}

}  // namespace
}  // namespace sharewell::engine
