// FakeRunner: a cluster's manager, played by chance: commands take time, starts are refused,
// answers come late, twice, after younger ones, or never. The same seed gives the same history.
//
// What is really there is kept apart from what was told of it, and checked: no job runs twice at a
// time or again after it has finished, and nothing is started on a node that is down. `wrong` says
// what went wrong first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "engine/pauser.h"
#include "engine/runner.h"
#include "testing/random_case.h"

namespace sharewell::fixtures {

struct FakeRunnerOptions {
  std::uint64_t seed = 1;
  // Chances, of each run, start or answer.
  double fail = 0;          // a run ends with another code, some out of memory or lost
  double refuse = 0;        // a start
  double keep = 0;          // a stop: the run goes on
  double refuse_pause = 0;  // a pause or a resume
  double lose_command = 0;  // a start or a stop never arrives
  double lose = 0;          // an answer never comes
  double twice = 0;         // an answer comes twice
  double late = 0;          // an answer takes up to `latest`, and others overtake it
  core::Seconds latest{40};
  core::Seconds command{0.5};                    // the most that a command takes to arrive
  core::Seconds shortest{1}, longest{200};       // runs
  std::optional<core::Seconds> list_every = {};  // it tells all that is there
};

class FakeRunner : public engine::Runner, public engine::Pauser {
 public:
  FakeRunner(std::vector<engine::RunnerNode> nodes, const FakeRunnerOptions& options);

  core::Seconds Now() override { return now_; }
  void Start(const engine::RunRequest& request) override;
  void Stop(engine::RunId id, const engine::StopOrder& order) override;
  void Change(engine::RunId, const engine::RunBounds&) override {}
  std::vector<engine::RunRequest> Recover() override;
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override;
  void Wake() override {}
  void Forget(engine::RunId id) override;
  // Commands of these are never lost: nobody asks again.
  void Pause(engine::RunId id, std::optional<core::Bytes>) override {
    Send(PauseCommand{id, true});
  }
  void Resume(engine::RunId id) override { Send(PauseCommand{id, false}); }
  std::string WhyNoPause() override { return {}; }

  void SetLoss(double commands, double answers);  // from now on
  void SetRefuse(double starts) { options_.refuse = starts; }
  void SetFail(double runs) { options_.fail = runs; }
  void SetRefusePause(double pauses) { options_.refuse_pause = pauses; }
  // Something else takes so long, and nothing is heard meanwhile.
  void Pass(core::Seconds time) { now_ += time; }
  // Its supervisor is killed. Of a run that is not there: nothing happens.
  void LoseRun(engine::RunId id);
  // All that runs there ends in an error: what lets them share it has died.
  void FailGpu(const std::string& uuid);
  // It does not answer any more, or does again. This is never lost: drivers are asked often.
  void SetGpuLost(const std::string& uuid, bool lost);
  std::vector<engine::RunId> running() const;
  // A node goes, with all that runs on it, or comes: a new one, or one that went.
  void NodeGoes(const std::string& name);
  void NodeComes(const engine::RunnerNode& node);

  bool quiet() const;  // nothing runs, and nothing is on its way
  // By number of job: how often a command of it really ran, and how often it ran to its own end.
  const std::map<std::int64_t, int>& began() const { return began_; }
  const std::map<std::int64_t, int>& finished() const { return finished_; }
  std::string wrong;

 private:
  struct Process {
    engine::RunRequest request;
    core::Seconds ends;                      // by itself
    bool told = false;                       // to stop
    std::optional<core::Seconds> left = {};  // it is paused, and has so much to run
  };
  struct StartCommand {
    engine::RunRequest request;
  };
  struct StopCommand {
    engine::RunId id;
    core::Seconds grace;
  };
  struct ListCommand {
    core::Seconds as_of;
  };
  struct PauseCommand {
    engine::RunId id;
    bool pause = true;  // false: a resume
  };
  using Command = std::variant<StartCommand, StopCommand, ListCommand, PauseCommand>;
  struct Sent {
    core::Seconds arrives;
    Command command;
  };

  void Send(Command command);
  void CarryOut(const StartCommand& start);
  void CarryOut(const StopCommand& stop);
  void CarryOut(const ListCommand& list);
  void CarryOut(const PauseCommand& asked);
  void End(engine::RunId id, engine::RunEnd end);
  void Emit(const engine::RunEvent& event);
  bool Up(const std::string& node) const;
  std::optional<core::Seconds> Next() const;  // when something happens
  void Happen();                              // all that is due

  FakeRunnerOptions options_;
  Dice dice_;
  core::Seconds now_;
  std::optional<core::Seconds> list_at_;
  std::map<std::string, engine::RunnerNode> up_;
  std::vector<Sent> sent_;  // in the order they were given: they arrive so
  std::map<engine::RunId, Process> running_;
  std::map<engine::RunId, engine::RunEnd> ended_;         // and not forgotten
  std::map<engine::RunId, engine::RunRequest> requests_;  // whose start arrived
  std::set<engine::RunId> stopped_;                       // told to, whether there or not
  std::multimap<core::Seconds, engine::RunEvent> answers_;
  std::map<std::int64_t, int> began_, finished_;
  std::set<std::string> lost_gpus_;
};

}  // namespace sharewell::fixtures
