// Jobs that are paused by a plan or by their user, over a runner that is played by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>
#include <utility>

#include "engine/live/live_engine.h"
#include "testing/builders.h"
#include "testing/run_event_text.h"

namespace sharewell::engine {
namespace {

using core::JobId;
using core::Seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HandRunner : public Runner, public Pauser {
 public:
  Seconds Now() override { return now; }
  void Start(const RunRequest& request) override { Call("start", request.id); }
  void Stop(RunId id, const StopOrder& order) override {
    Call(order.cancels ? "cancel" : "stop", id);
  }
  void Change(RunId, const RunBounds&) override {}
  void Pause(RunId id, std::optional<core::Bytes>) override { Call("pause", id); }
  void Resume(RunId id) override { Call("resume", id); }
  std::string WhyNoPause() override { return {}; }
  std::vector<RunRequest> Recover() override { return {}; }
  bool Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) override {
    out = std::exchange(events, {});
    if (out.empty() && until && *until > now) now = *until;
    return true;
  }
  void Wake() override {}
  void Forget(RunId) override {}

  void Emit(RunEvent event) { events.push_back(std::move(event)); }
  void EmitEnd(RunId id) {
    RunEnd end;
    end.exit_code = 143;  // as it was told to
    Emit(RunEnded{id, std::move(end)});
  }
  std::vector<std::string> TakeCalls() { return std::exchange(calls, {}); }

  Seconds now;
  std::vector<RunEvent> events;
  std::vector<std::string> calls;

 private:
  void Call(const char* what, RunId id) {
    calls.push_back(fmt::format("{} {}.{}", what, id.job, id.attempt));
  }
};

class LivePausesTest : public ::testing::Test {
 protected:
  LivePausesTest() : cluster_(fixtures::ClusterBuilder().Node(1).Cores(8).Build()) { Begin(true); }
  void Begin(bool can_pause) {
    LiveOptions options;
    if (can_pause) options.pauser = &runner_;
    engine_ = std::make_unique<LiveEngine>(cluster_, std::vector<core::GivenGpu>{{0, "GPU-0", "A"}},
                                           runner_, options);
  }

  JobId Submit(std::int64_t number, int attempt = 0) {
    core::Job job;
    job.id = JobId(submitted_++);
    job.exclusive = true;
    RunRequest request;
    request.id = {number, attempt};
    engine_->Submit(job, request);
    return job.id;
  }
  const Observation& Observe() {
    engine_->Observe(runner_.now, seen_);
    return seen_;
  }
  void Apply(const core::Plan& plan) { engine_->Apply(plan, seen_); }
  core::Plan StartOf(JobId job) {
    core::Plan plan;
    plan.starts.push_back({job, fixtures::OnGpus({0}, 2), {}, {}});
    return plan;
  }
  core::Plan PauseOf(JobId job) {
    core::Plan plan;
    plan.stops.push_back({job, {}, true});
    return plan;
  }
  JobId Running(std::int64_t number) {
    const JobId job = Submit(number);
    Observe();
    Apply(StartOf(job));
    runner_.Emit(RunStarted{{number, 1}});
    Observe();
    runner_.TakeCalls();
    engine_->TakeNotes();
    return job;
  }
  std::vector<std::string> Notes() { return fixtures::NamesOf(engine_->TakeNotes()); }

  core::Cluster cluster_;
  HandRunner runner_;
  std::unique_ptr<LiveEngine> engine_;
  Observation seen_;
  std::size_t submitted_ = 0;
};

TEST_F(LivePausesTest, AStartWaitsForThePauseAndThePausedOneForItsPlace) {
  const JobId first = Running(1), second = Submit(2);
  Observe();
  core::Plan plan = PauseOf(first);
  plan.starts = StartOf(second).starts;
  Apply(plan);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("pause 1.1"));
  runner_.Emit(RunPaused{{1, 1}});
  Observe();
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("start 2.1"));
  EXPECT_THAT(Notes(), ElementsAre(fixtures::NameOf<RunPaused>()));
  runner_.Emit(RunStarted{{2, 1}});
  Observe();
  // Back again, while the other still leaves.
  plan = {};
  plan.stops.push_back({second, {}});
  plan.starts = StartOf(first).starts;
  Apply(plan);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 2.1"));
  runner_.EmitEnd({2, 1});
  Observe();
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("resume 1.1"));
  runner_.Emit(RunResumed{{1, 1}});
  Observe();
  EXPECT_THAT(Notes(), ::testing::Contains(fixtures::NameOf<RunResumed>()));
}

TEST_F(LivePausesTest, WhatAPlanCannotPauseIsStopped) {
  const JobId job = Running(1);
  Apply(PauseOf(job));
  runner_.Emit(PauseRefused{{1, 1}, "no"});
  Observe();
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("pause 1.1", "stop 1.1"));
  ASSERT_EQ(seen_.paused.size(), 1U);
  EXPECT_FALSE(seen_.paused[0].where);  // it begins anew
  runner_.EmitEnd({1, 1});
  Observe();
  Apply(StartOf(job));
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("start 1.2"));
}

TEST_F(LivePausesTest, WithoutAPauserItIsToldLikeARefusal) {
  Begin(false);
  const JobId job = Running(1);
  engine_->Pause(job);
  EXPECT_THAT(Notes(), ElementsAre(fixtures::NameOf<PauseRefused>()));
  Observe();
  EXPECT_THAT(seen_.failed, IsEmpty());
}

TEST_F(LivePausesTest, OneThatItsUserPausedIsParkedAndComesBackUnderAnotherId) {
  const JobId job = Running(1);
  engine_->Pause(job);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("pause 1.1"));
  runner_.Emit(RunPaused{{1, 1}});
  Observe();
  EXPECT_THAT(Notes(), ElementsAre(fixtures::NameOf<RunPaused>()));
  engine_->Park(job);
  EXPECT_THAT(Observe().failed, ElementsAre(job));
  // Its GPU is free meanwhile.
  const JobId other = Submit(2);
  Observe();
  Apply(StartOf(other));
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("start 2.1"));
  runner_.EmitEnd({2, 1});
  Observe();
  const JobId again = Submit(1, 1);
  Observe();
  ASSERT_EQ(seen_.paused.size(), 1U);
  EXPECT_EQ(seen_.paused[0].job, again);
  ASSERT_TRUE(seen_.paused[0].where);
  EXPECT_EQ(seen_.paused[0].where->gpus, fixtures::OnGpus({0}, 2).gpus);
  Apply(StartOf(again));
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("resume 1.1"));
}

TEST_F(LivePausesTest, AParkedOneThatEndsIsTold) {
  const JobId job = Running(1);
  engine_->Pause(job);
  runner_.Emit(RunPaused{{1, 1}});
  Observe();
  engine_->Park(job);
  Observe();
  EXPECT_TRUE(engine_->CancelParked(1));
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("pause 1.1", "cancel 1.1"));
  runner_.EmitEnd({1, 1});
  Observe();
  const auto ended = engine_->TakeEnded();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].run.job, 1);
  EXPECT_FALSE(engine_->CancelParked(1));
}

TEST_F(LivePausesTest, AResumeThatIsRefusedWaitsAndIsTriedAgain) {
  const JobId job = Running(1);
  Apply(PauseOf(job));
  runner_.Emit(RunPaused{{1, 1}});
  Observe();
  Apply(StartOf(job));
  runner_.Emit(ResumeRefused{{1, 1}, "the GPU is full"});
  Observe();
  EXPECT_THAT(seen_.requeued, ElementsAre(job));
  ASSERT_EQ(seen_.paused.size(), 1U);
  EXPECT_TRUE(seen_.paused[0].where);
  runner_.TakeCalls();
  Apply(StartOf(job));
  EXPECT_THAT(runner_.TakeCalls(), IsEmpty());  // not at once
  runner_.now += Seconds(5);
  Observe();
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("resume 1.1"));
}

TEST_F(LivePausesTest, APausedJobThatIsCancelledIsEnded) {
  const JobId job = Running(1);
  Apply(PauseOf(job));
  runner_.Emit(RunPaused{{1, 1}});
  Observe();
  engine_->Cancel(job);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("pause 1.1", "cancel 1.1"));
  runner_.EmitEnd({1, 1});
  EXPECT_THAT(Observe().failed, ElementsAre(job));
}

}  // namespace
}  // namespace sharewell::engine
