#include "engine/live/live_engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "testing/builders.h"
#include "testing/run_event_text.h"

namespace sharewell::engine {
namespace {

using core::JobId;
using core::Seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RunEnded EndOf(RunId id, int code, int signal = 0) {
  RunEnd end;
  end.exit_code = code;
  end.signal = signal;
  return {id, std::move(end)};
}

// Tells what the test says, and notes what it is told.
class HandRunner : public Runner {
 public:
  Seconds Now() override { return now; }
  void Start(const RunRequest& request) override {
    std::string gpus;
    for (const auto& gpu : request.gpus) gpus += fmt::format(" {}", gpu.index);
    calls.push_back(fmt::format("start {}.{}{}{}", request.id.job, request.id.attempt, gpus,
                                request.shares ? " shared" : ""));
    last = request;
  }
  void Stop(RunId id, const StopOrder& order) override {
    calls.push_back(fmt::format("{} {}.{} within {}", order.cancels ? "cancel" : "stop", id.job,
                                id.attempt, order.grace.value));
  }
  void Change(RunId id, const RunBounds& bounds) override {
    const std::string of = fmt::format("{}.{}", id.job, id.attempt);
    if (bounds.cores) calls.push_back(fmt::format("cores {} {}", of, *bounds.cores));
    if (bounds.share) calls.push_back(fmt::format("share {} {}", of, *bounds.share));
  }
  std::vector<RunRequest> Recover() override { return {}; }
  bool Wait(std::optional<Seconds> until, std::vector<RunEvent>& out) override {
    out.insert(out.end(), events.begin(), events.end());
    const bool any = !events.empty();
    events.clear();
    if (!any && until && *until > now) now = *until;
    return any || until.has_value();
  }
  void Wake() override {}
  void Forget(RunId) override {}

  void Progress(RunId id, double steps) { events.push_back(RunProgress{id, steps}); }
  std::vector<std::string> TakeCalls() { return std::exchange(calls, {}); }

  Seconds now;
  std::vector<RunEvent> events;
  std::vector<std::string> calls;
  RunRequest last;
};

RunRequest RequestFor(JobId job, core::Submission asked = {}) {
  RunRequest request;
  request.id = {static_cast<std::int64_t>(job.value) + 1, 0};
  request.asked = std::move(asked);
  return request;
}

class LiveEngineTest : public ::testing::Test {
 protected:
  LiveEngineTest() : cluster_(fixtures::ClusterBuilder().Node(2).Cores(8).Build()) {}

  static std::vector<core::GivenGpu> Gpus() { return {{0, "GPU-0", "A"}, {1, "GPU-1", "A"}}; }

  JobId Submit(bool exclusive = false) {
    core::Job job;
    job.id = JobId(submitted_++);
    job.exclusive = exclusive;
    engine_.Submit(job, RequestFor(job.id, asked_));
    engine_.SetPace(job.id, {10, 2});
    return job.id;
  }
  const Observation& Observe(std::optional<double> wake = 0) {
    std::optional<Seconds> at;
    if (wake) at = runner_.now + Seconds(*wake);
    more_ = engine_.Observe(at, seen_);
    return seen_;
  }
  const Observation& Apply(const core::Plan& plan) {
    engine_.Apply(plan, seen_);
    return seen_;
  }
  const Observation& Start(JobId job, std::vector<std::size_t> gpus,
                           std::optional<Seconds> profile = {}) {
    core::Plan plan;
    plan.starts.push_back({job, fixtures::OnGpus(gpus, 2), profile, {}});
    return Apply(plan);
  }
  const Observation& Stop(JobId job) {
    core::Plan plan;
    plan.stops.push_back({job, {}});
    return Apply(plan);
  }
  JobId Running(std::vector<std::size_t> gpus) {
    const JobId job = Submit();
    Observe();
    Start(job, std::move(gpus));
    runner_.TakeCalls();
    return job;
  }
  std::optional<double> Steps(JobId job) const {
    const auto told = engine_.HeardOf(job).steps;
    return told ? std::optional(told->steps) : std::nullopt;
  }
  std::vector<std::string> Ends() {
    std::vector<std::string> text;
    for (const Ended& end : engine_.TakeEnded()) {
      const char* outcomes[] = {"finished", "failed", "out of memory", "requeued"};
      text.push_back(fmt::format("{}.{} {}", end.run.job, end.run.attempt,
                                 outcomes[static_cast<int>(end.outcome)]));
    }
    return text;
  }

  core::Cluster cluster_;
  HandRunner runner_;
  core::Submission asked_;  // of what is submitted from now on
  LiveEngine engine_{cluster_, Gpus(), runner_, {.grace = Seconds(7)}};
  std::size_t submitted_ = 0;
  Observation seen_;
  bool more_ = true;
};

TEST_F(LiveEngineTest, TellsHowRunsEnd) {
  const JobId good = Running({0}), bad = Running({0}), late = Running({1}), lost = Running({1});
  runner_.events = {EndOf({4, 1}, 137, 9), EndOf({3, 1}, 143, 15), EndOf({2, 1}, 3),
                    EndOf({1, 1}, 0)};
  std::get<RunEnded>(runner_.events[0]).end.lost = true;
  std::get<RunEnded>(runner_.events[1]).end.timed_out = true;
  Observe();
  EXPECT_THAT(seen_.finished, ElementsAre(good));
  EXPECT_THAT(seen_.failed, ElementsAre(bad, late)) << "by job, whatever came first";
  EXPECT_THAT(seen_.requeued, ElementsAre(lost));
  EXPECT_THAT(Ends(), ElementsAre("4.1 requeued", "3.1 failed", "2.1 failed", "1.1 finished"));
  EXPECT_THAT(Ends(), IsEmpty());

  asked_.requeue = false;
  const JobId never_again = Running({0});
  runner_.events = {EndOf({5, 1}, 137, 9)};
  std::get<RunEnded>(runner_.events[0]).end.lost = true;
  EXPECT_THAT(Observe().failed, ElementsAre(never_again));
}

TEST_F(LiveEngineTest, WhoseTimeWasOverIsNotQueuedAgain) {
  const JobId job = Running({0}), other = Running({1});
  engine_.Requeue(job);
  engine_.Requeue(other);
  runner_.events = {EndOf({1, 1}, 143, 15), EndOf({2, 1}, 143, 15)};
  std::get<RunEnded>(runner_.events[0]).end.timed_out = true;
  Observe();
  EXPECT_THAT(seen_.failed, ElementsAre(job));
  EXPECT_THAT(seen_.requeued, ElementsAre(other));
}

// A server runs for months: what is over is kept for as long as its end is spoken of.
TEST_F(LiveEngineTest, WhatIsOverIsForgotten) {
  const JobId job = Running({0}), stopped = Running({1});
  runner_.Progress({1, 1}, 5);
  runner_.Progress({2, 1}, 6);
  Observe();
  Stop(stopped);
  engine_.Withdraw(stopped);
  runner_.events = {EndOf({1, 1}, 0)};
  Observe();
  EXPECT_THAT(Ends(), ElementsAre("1.1 finished"));
  EXPECT_EQ(Steps(job), 5) << "asked for when its end is written down";
  Observe();
  EXPECT_EQ(engine_.HeardOf(job).steps, std::nullopt);
  EXPECT_EQ(Steps(stopped), 6) << "its process is still there";
  engine_.Cancel(job);
  EXPECT_THAT(Observe().failed, IsEmpty()) << "it is over already";
  runner_.events = {EndOf({2, 1}, 143, 15)};
  Observe();
  EXPECT_EQ(Steps(stopped), 6);
  EXPECT_THAT(Ends(), ElementsAre("2.1 requeued"));
  Observe();
  EXPECT_EQ(engine_.HeardOf(stopped).steps, std::nullopt);
}

TEST_F(LiveEngineTest, OutOfMemoryIsTriedOnceMoreAlone) {
  asked_.gpu_memory = core::GiB(4);
  const JobId job = Running({0});
  EXPECT_TRUE(runner_.last.shares);
  EXPECT_EQ(runner_.last.gpu_memory, core::GiB(4));
  runner_.events = {EndOf({1, 1}, 1)};
  std::get<RunEnded>(runner_.events[0]).end.out_of_memory = true;
  EXPECT_THAT(Observe().out_of_memory, ElementsAre(job));
  Start(job, {0});
  EXPECT_FALSE(runner_.last.shares);
  EXPECT_EQ(runner_.last.gpu_memory, std::nullopt) << "a larger bound: none";
  runner_.events = {EndOf({1, 2}, 1)};
  std::get<RunEnded>(runner_.events[0]).end.out_of_memory = true;
  EXPECT_THAT(Observe().failed, ElementsAre(job));
  EXPECT_THAT(Ends(), ElementsAre("1.1 out of memory", "1.2 failed"));
}

TEST_F(LiveEngineTest, AShareOfTheSmsHoldsFromAStartToTheNext) {
  const JobId job = Submit(), alone = Submit(/*exclusive=*/true);
  Observe();
  core::Plan plan;
  plan.starts.push_back({job, fixtures::OnGpus({0}, 2), {}, {}});
  plan.starts[0].to.sm_share = 0.8;
  Apply(plan);
  EXPECT_EQ(runner_.last.thread_share, 0.8);
  plan = {};
  plan.moves.push_back({job, fixtures::OnGpus({0}, 2), false, {}});
  plan.moves[0].to.sm_share = 0.4;  // it is started again, narrower
  Apply(plan);
  EXPECT_EQ(runner_.last.thread_share, 0.8) << "not before its first run has left";
  runner_.events = {EndOf({1, 1}, 143, 15)};
  Observe();
  EXPECT_EQ(runner_.last.id.attempt, 2);
  EXPECT_EQ(runner_.last.thread_share, 0.4);
  Start(alone, {1});
  EXPECT_EQ(runner_.last.thread_share, std::nullopt) << "all of it";
}

TEST_F(LiveEngineTest, AGuestIsKeptToItsMemoryAndItsFirstOutOfMemoryIsNotCounted) {
  asked_.gpu_memory = core::GiB(4);
  const JobId job = Submit();
  Observe();
  const auto start_as_guest = [&](core::Bytes memory) {
    core::Plan plan;
    plan.starts.push_back({job, fixtures::OnGpus({0}, 2), {}, {}});
    plan.starts[0].to.sm_share = 0.8;
    plan.starts[0].to.guest_memory = memory;
    Apply(plan);
  };
  const auto run_out = [&](int attempt) {
    runner_.events = {EndOf({1, attempt}, 1)};
    std::get<RunEnded>(runner_.events[0]).end.out_of_memory = true;
  };
  start_as_guest(core::GiB(3));
  EXPECT_EQ(runner_.last.guest_memory, core::GiB(3));
  EXPECT_EQ(runner_.last.gpu_memory, core::GiB(3)) << "less than its user's own limit";
  EXPECT_EQ(runner_.last.thread_share, 0.8);
  EXPECT_TRUE(runner_.last.shares);
  run_out(1);
  EXPECT_THAT(Observe().out_of_memory, ElementsAre(job));
  start_as_guest(core::GiB(9));
  EXPECT_EQ(runner_.last.gpu_memory, core::GiB(4)) << "its user's own limit";
  EXPECT_TRUE(runner_.last.shares);
  run_out(2);
  EXPECT_THAT(Observe().out_of_memory, ElementsAre(job));
  Start(job, {0});
  EXPECT_FALSE(runner_.last.shares) << "alone";
  EXPECT_EQ(runner_.last.guest_memory, std::nullopt);
  run_out(3);
  EXPECT_THAT(Observe().failed, ElementsAre(job));
  EXPECT_THAT(Ends(), ElementsAre("1.1 out of memory", "1.2 out of memory", "1.3 failed"));
}

TEST_F(LiveEngineTest, AStartWaitsUntilItsPlaceIsLeft) {
  const JobId a = Running({0}), b = Submit(), c = Submit();
  Observe();
  core::Plan plan;
  plan.stops.push_back({a, {}});
  plan.starts.push_back({b, fixtures::OnGpus({0}), {}, {}});
  EXPECT_THAT(Apply(plan).progress, IsEmpty());
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7"));
  // Later plans: another one onto the same GPU waits too, elsewhere it need not.
  Start(c, {0, 1});
  Start(a, {1});
  EXPECT_THAT(runner_.TakeCalls(), IsEmpty()) << "its own last attempt is still there";
  Stop(b);
  EXPECT_THAT(Ends(), ElementsAre("2.1 requeued")) << "it never began";
  runner_.events = {EndOf({1, 1}, 0)};
  std::get<RunEnded>(runner_.events.back()).end.stopped = true;
  Observe();
  EXPECT_THAT(seen_.finished, IsEmpty()) << "it was told to end, and has saved its work";
  EXPECT_THAT(seen_.requeued, IsEmpty()) << "the loop knows";
  EXPECT_THAT(seen_.progress, SizeIs(2)) << "who begins is told";
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("start 3.1 0 1 shared", "start 1.2 1 shared"));
  EXPECT_THAT(Ends(), ElementsAre("1.1 requeued"));
}

TEST_F(LiveEngineTest, AStopThatIsRefusedIsTakenBackAndWhoWasToComeGoesBackIntoTheQueue) {
  runner_.now = Seconds(100);
  const JobId a = Running({0}), b = Submit();
  runner_.events = {RunStarted{{1, 1}}};
  Observe();
  engine_.TakeNotes();
  core::Plan plan;
  plan.stops.push_back({a, {}});
  plan.starts.push_back({b, fixtures::OnGpus({0}), {}, {}});
  runner_.now = Seconds(150);
  Apply(plan);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7"));
  runner_.events = {StopRefused{{1, 1}, "a budget forbids it"}};
  Observe();
  EXPECT_THAT(seen_.requeued, ElementsAre(b));
  ASSERT_THAT(seen_.stays, SizeIs(1));
  EXPECT_EQ(seen_.stays[0].job, a);
  EXPECT_TRUE(seen_.stays[0].stays);
  ASSERT_TRUE(seen_.stays[0].where);
  EXPECT_EQ(seen_.stays[0].where->gpus, fixtures::OnGpus({0}).gpus);
  EXPECT_EQ(seen_.stays[0].since, Seconds(100)) << "it has run all the while";
  EXPECT_THAT(runner_.TakeCalls(), IsEmpty());
  const auto ends = engine_.TakeEnded();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].run, (RunId{2, 1}));
  EXPECT_EQ(ends[0].end.message,
            "job 1 was to leave its place for it, and does not: a budget forbids it");
  const auto notes = engine_.TakeNotes();
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_EQ(fixtures::NameOf(notes[0]), fixtures::NameOf<StopRefused>());
  // It may be asked again after a while, and later each time.
  Observe(100);
  ASSERT_THAT(seen_.stays, SizeIs(1));
  EXPECT_FALSE(seen_.stays[0].stays);
  EXPECT_EQ(seen_.now, Seconds(165));
  Stop(a);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7"));
  runner_.events = {StopRefused{{1, 1}, "a budget forbids it"}};
  Observe();
  ASSERT_THAT(seen_.stays, SizeIs(1));
  Observe(100);
  EXPECT_EQ(seen_.now, Seconds(195));
  // Its end is its own.
  runner_.events = {EndOf({1, 1}, 0)};
  EXPECT_THAT(Observe().finished, ElementsAre(a));
}

TEST_F(LiveEngineTest, AMoveThatIsRefusedLeavesItWhereItWasAsTheSameAttempt) {
  const JobId a = Running({0}), b = Running({1});
  runner_.events = {RunStarted{{1, 1}}, RunStarted{{2, 1}}};
  Observe();
  engine_.TakeNotes();
  core::Plan plan;
  plan.moves.push_back({a, fixtures::OnGpus({1}), false, {}});
  plan.moves.push_back({b, fixtures::OnGpus({0}), false, {}});
  Apply(plan);
  runner_.TakeCalls();
  runner_.events = {StopRefused{{1, 1}}};
  Observe();
  EXPECT_THAT(seen_.requeued, ElementsAre(a, b)) << "neither is where the plan had it";
  ASSERT_THAT(seen_.stays, SizeIs(1));
  EXPECT_EQ(seen_.stays[0].job, a);
  EXPECT_EQ(fixtures::NamesOf(engine_.TakeNotes()), (fixtures::NamesOf<StopRefused, RunStarted>()));
  EXPECT_THAT(Ends(), ElementsAre("2.2 requeued"));
  runner_.events = {EndOf({2, 1}, 143, 15)};
  Observe(1);
  EXPECT_THAT(Ends(), ElementsAre("2.1 requeued"));
  // The attempt that was not made has had its number.
  runner_.now = Seconds(60);
  Observe();
  plan = {};
  plan.moves.push_back({a, fixtures::OnGpus({1}), false, {}});
  Apply(plan);
  runner_.events = {EndOf({1, 1}, 143, 15)};
  Observe();
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7", "start 1.3 1 shared"));
}

TEST_F(LiveEngineTest, WhoSharesBadlyIsToldToLeaveUntilItMay) {
  const JobId a = Running({0});
  engine_.Requeue(a);
  runner_.events = {StopRefused{{1, 1}}};
  Observe();
  EXPECT_THAT(seen_.stays, IsEmpty());
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7"));
  Observe(20);
  Observe(20);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7"));
  engine_.Cancel(a);
  runner_.events = {StopRefused{{1, 1}}};
  Observe(100);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("cancel 1.1 within 7"));
}

TEST_F(LiveEngineTest, WhatEndedBeforeItWasStoppedKeepsItsEnd) {
  const JobId a = Running({0}), b = Running({1});
  core::Plan plan;
  plan.stops.push_back({a, {}});
  plan.moves.push_back({b, fixtures::OnGpus({0}), false, {}});
  runner_.events = {EndOf({1, 1}, 0), EndOf({2, 1}, 0)};
  Apply(plan);
  EXPECT_THAT(runner_.TakeCalls(), IsEmpty());
  EXPECT_THAT(Observe().finished, ElementsAre(a, b));

  const JobId c = Running({0});
  Stop(c);
  engine_.Cancel(c);
  runner_.events = {EndOf({3, 1}, 0)};
  std::get<RunEnded>(runner_.events.back()).end.stopped = true;
  EXPECT_THAT(Observe().failed, ElementsAre(c)) << "told so, though the loop has it in the queue";
  EXPECT_THAT(Ends(), ElementsAre("1.1 finished", "2.1 finished", "3.1 failed"));
}

TEST_F(LiveEngineTest, MovesLeaveBeforeTheyArrive) {
  const JobId a = Running({0}), b = Running({1});
  core::Plan plan;
  plan.moves.push_back({a, fixtures::OnGpus({1}), false, {}});
  plan.moves.push_back({b, fixtures::OnGpus({0}), false, {}});
  Apply(plan);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7", "stop 2.1 within 7"));
  plan = {};
  plan.resizes.push_back({a, 5, {}});
  Apply(plan);
  runner_.events = {EndOf({1, 1}, 143, 15)};
  Observe();
  EXPECT_THAT(runner_.TakeCalls(), IsEmpty()) << "the other is still where it wants to go";
  runner_.events = {EndOf({2, 1}, 143, 15)};
  Observe();
  EXPECT_THAT(seen_.requeued, IsEmpty());
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("start 1.2 1 shared", "start 2.2 0 shared"));
  plan = {};
  plan.resizes.push_back({b, 1, {}});
  plan.throttles.push_back({b, 0.5, {}});
  Apply(plan);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("cores 2.2 1", "share 2.2 0.5"));
}

TEST_F(LiveEngineTest, AStartThatIsGivenUpSaysThatTheLastRunStillLeaves) {
  const JobId job = Running({0});
  core::Plan move;
  move.moves.push_back({job, fixtures::OnGpus({1}, 2), false, {}});
  Apply(move);
  engine_.Requeue(job);  // its next place is lost before it got there
  auto ends = engine_.TakeEnded();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].run, (RunId{1, 2}));
  EXPECT_TRUE(ends[0].earlier_leaves);
  runner_.events = {EndOf({1, 1}, 0)};
  Observe();
  ends = engine_.TakeEnded();
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].outcome, Outcome::kFinished) << "before it heard that it should leave";
  EXPECT_FALSE(ends[0].earlier_leaves);
}

TEST_F(LiveEngineTest, AnInteractiveJobIsNeverStartedAgain) {
  asked_.terminal = true;
  asked_.requeue = false;
  const JobId moved = Running({0}), evicted = Running({1});
  core::Plan plan;
  plan.moves.push_back({moved, fixtures::OnGpus({1}), false, {}});
  Apply(plan);
  engine_.Requeue(evicted);
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7", "stop 2.1 within 7"));
  runner_.events = {EndOf({1, 1}, 0), EndOf({2, 1}, 129, 1)};
  std::get<RunEnded>(runner_.events[0]).end.stopped = true;
  EXPECT_THAT(Observe().failed, ElementsAre(moved, evicted));
  EXPECT_THAT(seen_.requeued, IsEmpty());
  EXPECT_THAT(runner_.TakeCalls(), IsEmpty());
  for (const Ended& end : engine_.TakeEnded()) {
    EXPECT_THAT(end.end.message, ::testing::HasSubstr("is not started again"));
  }
  const JobId full = Running({0});
  runner_.events = {EndOf({3, 1}, 1)};
  std::get<RunEnded>(runner_.events[0]).end.out_of_memory = true;
  EXPECT_THAT(Observe().failed, ElementsAre(full));
}

TEST_F(LiveEngineTest, CancelWithdrawAndRequeue) {
  const JobId a = Running({0}), b = Submit(), c = Running({1});
  Observe();
  engine_.Withdraw(b);
  EXPECT_THAT(Observe(std::nullopt).failed, ElementsAre(b));
  Stop(a);
  Start(a, {1});
  engine_.Cancel(a);  // its start waits for its own last attempt
  engine_.Requeue(c);
  EXPECT_THAT(Observe().failed, IsEmpty());
  runner_.events = {EndOf({1, 1}, 143, 15), EndOf({3, 1}, 0)};
  std::get<RunEnded>(runner_.events.back()).end.stopped = true;
  Observe();
  EXPECT_THAT(seen_.failed, ElementsAre(a));
  EXPECT_THAT(seen_.requeued, ElementsAre(c));
  EXPECT_THAT(runner_.TakeCalls(),
              ElementsAre("stop 1.1 within 7", "cancel 1.1 within 7", "stop 3.1 within 7"))
      << "a runner must hear that it does not go back into the queue";
  EXPECT_THAT(Ends(), ElementsAre("1.1 failed", "3.1 requeued"));

  const JobId d = Submit();
  engine_.Withdraw(d);
  EXPECT_THAT(Observe().failed, IsEmpty()) << "it is not known yet";
  EXPECT_THAT(seen_.submitted, SizeIs(1));
  EXPECT_THAT(Observe(std::nullopt).failed, ElementsAre(d));
  Observe(std::nullopt);
  EXPECT_FALSE(more_);
}

TEST_F(LiveEngineTest, ALostGpuEndsWhatIsOnIt) {
  const JobId a = Running({0, 1}), b = Running({1});
  asked_.requeue = false;
  const JobId c = Running({0});
  runner_.events = {GpuLost{"GPU-0"}};
  Observe();
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 1.1 within 7", "cancel 3.1 within 7"));
  runner_.events = {EndOf({1, 1}, 143, 15), EndOf({3, 1}, 143, 15)};
  Observe();
  EXPECT_THAT(seen_.requeued, ElementsAre(a));
  EXPECT_THAT(seen_.failed, ElementsAre(c));
  Start(a, {0});
  EXPECT_THAT(runner_.TakeCalls(), IsEmpty()) << "nothing is started there";
  EXPECT_THAT(Observe(std::nullopt).requeued, ElementsAre(a));
  runner_.events = {GpuBack{"GPU-0"}};
  Observe();
  Start(a, {0});
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("start 1.3 0 shared"));
  EXPECT_THAT(engine_.TakeNotes(), SizeIs(2));
  EXPECT_EQ(engine_.HeardOf(b).steps, std::nullopt);
}

TEST_F(LiveEngineTest, WhatComesBeforeTheFirstStepIsStartUp) {
  const JobId a = Submit();
  Observe();
  Start(a, {0});
  EXPECT_EQ(seen_.progress[0].startup, Seconds(0)) << "not known yet";
  runner_.now += Seconds(20);
  runner_.Progress({1, 1}, 1);
  Observe(std::nullopt);
  ASSERT_THAT(seen_.progress, SizeIs(1));
  EXPECT_EQ(seen_.progress[0].startup, Seconds(19.9)) << "less the step itself: ten a second";
  Stop(a);
  runner_.events = {EndOf({1, 1}, 143, 15)};
  Observe();
  Start(a, {0});
  runner_.now += Seconds(5);
  runner_.Progress({1, 2}, 21);
  Observe(std::nullopt);
  EXPECT_NEAR(seen_.progress[0].startup.value, 19.9 + 3, 1e-9)
      << "at every start; twenty steps in a lot";
}

TEST_F(LiveEngineTest, TellsProgressWhenItSaysSomething) {
  const JobId a = Submit();
  Observe();
  Start(a, {0});
  ASSERT_THAT(seen_.progress, SizeIs(1));
  EXPECT_EQ(seen_.progress[0].rate, 2) << "believed, until steps are told";
  // Full speed is 10 steps a second, which is 2 seconds of work.
  for (int second = 1; second <= 4; ++second) {
    runner_.now += Seconds(1);
    runner_.Progress({1, 1}, 10.0 * second);
    Observe(std::nullopt);
    EXPECT_FALSE(more_) << "as it was believed: no turn for that";
  }
  EXPECT_EQ(Steps(a), 40);
  runner_.now += Seconds(1);
  runner_.Progress({1, 1}, 50);
  ASSERT_THAT(Observe(std::nullopt).progress, SizeIs(1)) << "now and then all the same";
  EXPECT_EQ(seen_.progress[0].attained, Seconds(10));
  EXPECT_EQ(seen_.progress[0].rate, 2);

  // Somebody comes: what was measured before is not the pace beside him.
  const JobId b = Submit();
  Observe();
  ASSERT_THAT(Start(b, {0}).progress, SizeIs(2));
  for (int second = 1; second <= 3; ++second) {
    runner_.now += Seconds(1);
    runner_.Progress({1, 1}, 50 + 5.0 * second);
    Observe(std::nullopt);
  }
  ASSERT_TRUE(more_) << "half the pace is news";
  ASSERT_THAT(seen_.progress, SizeIs(1));
  EXPECT_EQ(seen_.progress[0].attained, Seconds(13));
  EXPECT_EQ(seen_.progress[0].rate, 1);

  // Without a pace to hold them against, steps say nothing: time counts.
  engine_.SetPace(a, {std::nullopt, 2});
  engine_.SetPace(b, {std::nullopt, 2});
  runner_.now += Seconds(6);
  runner_.Progress({2, 1}, 7);
  Observe(std::nullopt);
  ASSERT_THAT(seen_.progress, SizeIs(1));
  EXPECT_EQ(seen_.progress[0].job, b);
  EXPECT_EQ(seen_.progress[0].attained, Seconds(18));
  // From a checkpoint: what was done before is kept.
  engine_.SetPace(a, {10, 2});
  Stop(a);
  runner_.events = {EndOf({1, 1}, 143, 15)};
  Observe();
  EXPECT_EQ(Start(a, {1}).progress[0].attained, Seconds(19)) << "13, and 6 seconds at rate 1";
  runner_.now += Seconds(5);
  runner_.Progress({1, 2}, 80);
  Observe(std::nullopt);
  EXPECT_EQ(seen_.progress[0].attained, Seconds(16)) << "it knows better where it stands";
}

TEST_F(LiveEngineTest, TellsWhoRanAloneForAWhile) {
  const JobId a = Submit();
  Observe();
  Start(a, {0}, Seconds(60));
  Observe(std::nullopt);
  EXPECT_EQ(seen_.now, Seconds(60));
  EXPECT_THAT(seen_.profiled, ElementsAre(a));
  Observe(std::nullopt);
  EXPECT_FALSE(more_);
}

TEST_F(LiveEngineTest, GoesOnWithWhatAnEarlierServerStarted) {
  RunRequest request;
  request.id = {8, 3};
  request.gpus = {Gpus()[1]};
  request.shares = true;
  engine_.Adopt(JobId(0), request, request);
  submitted_ = 1;
  const JobId b = Submit();
  ASSERT_THAT(Observe().progress, SizeIs(1));
  engine_.Requeue(JobId(0));
  Start(b, {1});
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("stop 8.3 within 7"));
  runner_.events = {EndOf({8, 3}, 143, 15), EndOf({99, 1}, 0)};
  EXPECT_THAT(Observe().requeued, ElementsAre(JobId(0)));
  EXPECT_THAT(runner_.TakeCalls(), ElementsAre("start 2.1 1 shared"));
}

TEST_F(LiveEngineTest, ALaterAttemptIsWhatTheStoreSaysAndNotWhatLiesInTheFolder) {
  RunRequest found;
  found.id = {8, 3};
  found.gpus = {Gpus()[1]};
  found.user = {"root", 0, 0, true};
  found.asked.command = {"planted"};
  RunRequest stored;
  stored.id = {8, 3};
  stored.user = {"ada", 1000, 1000, false};
  stored.asked.command = {"train"};
  engine_.Adopt(JobId(0), found, stored);
  Observe();
  engine_.Requeue(JobId(0));
  runner_.events = {EndOf({8, 3}, 143, 15)};
  EXPECT_THAT(Observe().requeued, ElementsAre(JobId(0)));
  Start(JobId(0), {0});
  EXPECT_EQ(runner_.last.id, (RunId{8, 4}));
  EXPECT_EQ(runner_.last.user, stored.user);
  EXPECT_EQ(runner_.last.asked.command, stored.asked.command);
}

// The command exits by itself in the moment before it would be told to.
TEST_F(LiveEngineTest, F11_WhatCameToItsOwnEndBeforeItWasToldToHasFinished) {
  for (const bool cancel : {false, true}) {
    const JobId job = Submit();
    Observe();
    Start(job, {0});
    const RunId run = runner_.last.id;
    cancel ? engine_.Cancel(job) : engine_.Requeue(job);
    runner_.events = {EndOf(run, 0)};
    EXPECT_THAT(Observe().finished, ElementsAre(job));
    EXPECT_EQ(engine_.TakeEnded().back().outcome, Outcome::kFinished);
  }
}

TEST_F(LiveEngineTest, F11_AlsoWhereAPlanStoppedIt) {
  const JobId job = Submit();
  Observe();
  Start(job, {0});
  core::Plan plan;
  plan.stops.push_back({job, {}});
  Apply(plan);
  runner_.events = {EndOf(runner_.last.id, 0)};
  EXPECT_THAT(Observe().finished, ElementsAre(job));
  EXPECT_THAT(Observe().requeued, IsEmpty());
}

}  // namespace
}  // namespace sharewell::engine
