// The threads of the runners of clusters: commands go one way, events the other. What the controls
// do with them is tested on a clock of their own (slurm_control_test.cc, kube_control_test.cc).
#include "engine/cluster_runner.h"

#include <gmock/gmock.h>

#include <chrono>

#include "engine/kubernetes/api/scripted_kube.h"
#include "engine/kubernetes/control/kube_runner.h"
#include "engine/slurm/control/slurm_runner.h"
#include "testing/fake_slurm.h"

namespace sharewell::engine {
namespace {

using core::Seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr Seconds kLong(60);  // no test waits for it, unless it fails

// Tells of each command by a note.
class NotingControl : public ClusterControl {
 public:
  void Start(const RunRequest& request) override { Emit("start", request.id); }
  void Stop(RunId id) override { Emit("stop", id); }
  void Cancel(RunId id) override { Emit("cancel", id); }
  void CancelWaiting(std::int64_t job) override { Emit("cancel waiting", {job, 0}); }
  void Expect(std::int64_t job) override { Emit("expect", {job, 0}); }
  void List(Seconds) override { Emit("list", {}); }
  void Forget(RunId id) override { Emit("forget", id); }

  std::vector<RunEvent> events;

 private:
  void Emit(const std::string& what, RunId id) {
    events.push_back(RunNote{id, what + " " + std::to_string(id.job)});
  }
};

class NotingRunner final : public ClusterRunner {
 public:
  explicit NotingRunner(Seconds origin = Seconds(0), Seconds list_every = kListEvery)
      : ClusterRunner(origin, list_every) {}
  ~NotingRunner() override { EndWork(); }
  NotingRunner(const NotingRunner&) = delete;
  NotingRunner& operator=(const NotingRunner&) = delete;
  void Change(RunId id, const RunBounds&) override { Note(id, "bounds"); }
  std::vector<RunRequest> Recover() override {
    BeginWork();
    return {};
  }

 private:
  void Work() override {
    int looks = 0;
    while (WaitForCommands(Now() + kLong, Seconds(0.01))) {
      CarryOut(control_);
      EmitAll(std::exchange(control_.events, {}), "look " + std::to_string(++looks));
    }
  }
  NotingControl control_;
};

// Waits until there are so many; fewer where they do not come.
template <class Event>
std::vector<Event> EventsOf(Runner& runner, std::size_t count) {
  std::vector<Event> kept;
  const Seconds until = runner.Now() + kLong;
  while (kept.size() < count && runner.Now() < until) {
    std::vector<RunEvent> events;
    runner.Wait(until, events);
    for (RunEvent& event : events) {
      if (auto* one = std::get_if<Event>(&event)) kept.push_back(std::move(*one));
    }
  }
  return kept;
}

std::vector<std::string> WordsOf(const std::vector<RunNote>& events) {
  std::vector<std::string> words;
  for (const RunNote& event : events) words.push_back(event.message);
  return words;
}

TEST(ClusterRunner, CommandsAreCarriedOutInTheirOrder) {
  NotingRunner runner;
  runner.Recover();
  RunRequest request;
  request.id = {1, 1};
  runner.Start(request);
  runner.Stop({2, 1}, {Seconds(5)});
  runner.Stop({3, 1}, {Seconds(5), true});
  runner.CancelWaiting(4);
  runner.Expect(5);
  runner.Forget({7, 1});
  EXPECT_THAT(
      WordsOf(EventsOf<RunNote>(runner, 6)),
      ElementsAre("start 1", "stop 2", "cancel 3", "cancel waiting 4", "expect 5", "forget 7"));
  EXPECT_THAT(runner.Problem(), HasSubstr("look "));
}

TEST(ClusterRunner, CommandsThatCameBeforeItsThreadAreNotLost) {
  NotingRunner runner;
  runner.Expect(5);
  runner.Recover();
  EXPECT_THAT(WordsOf(EventsOf<RunNote>(runner, 1)), ElementsAre("expect 5"));
}

TEST(ClusterRunner, ManyCommandsWhileEventsAreTakenAllArrive) {
  NotingRunner runner;
  runner.Recover();
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) runner.Wake();
  });
  for (std::int64_t i = 0; i < 500; ++i) runner.Expect(i);
  const auto events = EventsOf<RunNote>(runner, 500);
  other.join();
  ASSERT_THAT(events, SizeIs(500));
  for (std::size_t i = 0; i < events.size(); ++i) {
    ASSERT_EQ(events[i].id.job, static_cast<std::int64_t>(i));
  }
}

TEST(ClusterRunner, AWaitEndsInTimeOrWhenItIsWoken) {
  NotingRunner runner(Seconds(1000));
  runner.Recover();
  EXPECT_GE(runner.Now(), Seconds(1000)) << "Now() begins at the origin";
  std::vector<RunEvent> events;
  const Seconds until = runner.Now() + Seconds(0.05);
  EXPECT_TRUE(runner.Wait(until, events));
  EXPECT_GE(runner.Now(), until);
  runner.Wake();  // before the Wait is under way
  EXPECT_TRUE(runner.Wait(std::nullopt, events));
  EXPECT_TRUE(events.empty());
}

TEST(ClusterRunner, WhatIsThereIsToldNowAndThenWhileItIsWaitedFor) {
  NotingRunner runner(Seconds(0), Seconds(0.05));
  runner.Recover();
  EXPECT_THAT(WordsOf(EventsOf<RunNote>(runner, 2)), ElementsAre("list 0", "list 0"));
}

TEST(ClusterRunner, ANoteNeedsNoThread) {
  NotingRunner runner;
  runner.Change({3, 1}, {.cores = 2});
  EXPECT_THAT(WordsOf(EventsOf<RunNote>(runner, 1)), ElementsAre("bounds"));
}

TEST(ClusterRunner, SlurmRunsAJobOfItsUser) {
  fixtures::FakeSlurm slurm;
  slurm.AddNode("n0", 2, "A");
  const std::int64_t job = slurm.Submit(1, {.lasts = Seconds(1), .exit_code = 3});
  SlurmRunnerOptions options;
  options.control = fixtures::FakeSlurmRunner::Options(slurm);
  options.control.poll = Seconds(0.01);
  // Slurm's time goes on with each look, on the runner's thread.
  options.control.alive = [&] { slurm.Advance(slurm.now() + Seconds(0.25)); };
  auto opened = SlurmRunner::Open(slurm, std::move(options));
  ASSERT_TRUE(opened) << opened.error().message;
  SlurmRunner& runner = **opened;
  ASSERT_THAT(runner.opened().nodes, SizeIs(1));
  EXPECT_THAT(runner.opened().models, ElementsAre("A"));
  EXPECT_THAT(runner.Recover(), SizeIs(0));
  const auto submitted = EventsOf<JobSubmitted>(runner, 1);
  ASSERT_THAT(submitted, SizeIs(1));
  ASSERT_EQ(submitted[0].job, job);
  RunRequest request;
  request.id = {job, 1};
  request.nodes = {"n0"};
  request.gpus = {runner.opened().nodes[0].gpus[1]};
  request.cores = 1;
  runner.Change(request.id, {.cores = 2});
  runner.Start(request);
  EXPECT_THAT(WordsOf(EventsOf<RunNote>(runner, 1)),
              ElementsAre(HasSubstr("cannot change the cores")));
  const auto ended = EventsOf<RunEnded>(runner, 1);
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].id, request.id);
  EXPECT_EQ(ended[0].end.exit_code, 3);
}

// An API server without pods and nodes, whose waits can be ended.
class EmptyKube : public ScriptedKube {
 public:
  EmptyKube() {
    on_ask = [](const KubeRequest&) -> core::Result<KubeAnswer> {
      KubeAnswer answer;
      answer.status = 200;
      answer.body = R"({"metadata":{"resourceVersion":"1"},"items":[]})";
      return answer;
    };
  }
  void WaitForLines(Seconds at_most) override {
    platform::MutexLock lock(mutex_);
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(at_most.value);
    while (!woken_ && woke_.wait_until(lock, until) != std::cv_status::timeout) {
    }
    woken_ = false;
  }
  void Wake() override {
    {
      const platform::MutexLock lock(mutex_);
      woken_ = true;
    }
    woke_.notify_all();
  }

 private:
  platform::Mutex mutex_;
  std::condition_variable_any woke_;
  bool woken_ SHAREWELL_GUARDED_BY(mutex_) = false;
};

TEST(ClusterRunner, KubernetesTellsWhatIsThere) {
  EmptyKube kube;
  KubeRunnerOptions options;
  options.control.model = [](std::string_view) { return std::nullopt; };
  options.control.wall = [] { return core::UnixMillis(1); };
  options.list_every = Seconds(0.05);
  auto opened = KubeRunner::Open(kube, std::move(options));
  ASSERT_TRUE(opened) << opened.error().message;
  KubeRunner& runner = **opened;
  EXPECT_THAT(runner.opened().nodes, SizeIs(0));
  EXPECT_THAT(runner.Recover(), SizeIs(0));
  const auto listed = EventsOf<RunsListed>(runner, 2);
  ASSERT_GE(listed.size(), 2U);
  EXPECT_LT(listed[0].as_of, listed[1].as_of);
  runner.Change({1, 1}, {.cores = 2});
  EXPECT_THAT(WordsOf(EventsOf<RunNote>(runner, 1)),
              ElementsAre(HasSubstr("cannot change the CPUs")));
}

}  // namespace
}  // namespace sharewell::engine
