// FakeSlurm: a Slurm cluster that is played: jobs that are held, placed, released and run, nodes
// that come and go, updates that are not atomic, and answers that fail, hang, or get lost after
// what was asked has happened. On a clock of the test's.
//
// What must never happen is looked for all the while: more shards of a GPU in use than there are, a
// job that runs twice at a time or at a place that nobody gave it. `wrong` says what did first.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/foreign_queue.h"
#include "engine/runner.h"
#include "engine/slurm/control/slurm_control.h"
#include "engine/slurm/read/slurm_client.h"
#include "testing/random_case.h"
#include "testing/runner_history.h"

namespace sharewell::fixtures {

// How a job runs.
struct SlurmTold {
  core::Seconds lasts{10};
  int exit_code = 0;
};

class FakeSlurm : public engine::SlurmClient {
 public:
  // What happens to a call.
  enum class Fault : std::uint8_t {
    kNone,
    kFails,  // nothing was done
    kLost,   // it was done, and the answer is an error
    kHalf,   // of `Control` half was done, and the answer is an error
  };
  using Told = SlurmTold;

  explicit FakeSlurm(std::uint64_t seed = 1) : dice_(seed) {}

  void AddNode(const std::string& name, int gpus, const std::string& model, int cpus = 16);
  void AddPlainNode(const std::string& name, int gpus, const std::string& model);  // no shards
  void SetNode(const std::string& name, bool up, const std::string& state);
  engine::SlurmNode& node(const std::string& name) { return nodes_.at(name); }
  // Held, with our note. Its id.
  std::int64_t Submit(int gpus, Told told = {},
                      const std::function<void(engine::SlurmJob&)>& change = {});
  void SubmitAs(std::int64_t id, int gpus, Told told, int nodes);
  engine::SlurmJob& job(std::int64_t id) { return jobs_.at(id).slurm; }
  bool Knows(std::int64_t id) const { return jobs_.contains(id); }
  void Purge(std::int64_t id);
  // One that runs ends by itself, now.
  void End(std::int64_t id, int exit_code);
  void Advance(core::Seconds to);
  core::Seconds now() const { return now_; }
  // By hand, as a user or an admin does it.
  std::string Do(const std::string& line) { return CarryOut(line); }

  std::deque<Fault> faults;    // of the next calls that change something or ask, in turn
  double chance_of_fault = 0;  // beyond those
  core::Seconds leaving{1};    // SIGTERM to gone
  bool starts_jobs = true;     // false: what is released waits for resources
  std::string refuse_updates;  // what it says of each; empty: it takes them
  std::vector<engine::SlurmReservation> reservations;
  std::map<std::string, core::Seconds> partition_limits;
  engine::SlurmShares shares;
  engine::SlurmPreemption preemption;
  bool accounts = false;  // it remembers in its accounting what it forgets itself
  std::map<std::int64_t, std::string> keeps;  // jobs that it does not start, and its reason
  int cpus_of_core = 1;                       // it hands out whole cores
  bool refuse_cores = false;                  // updates of them
  std::vector<std::string> log;               // lines that were carried out
  int calls = 0;
  std::map<std::int64_t, int> starts;             // by job
  std::map<std::int64_t, double> steps;           // of running jobs, as an agent tells them
  std::map<std::int64_t, std::string> documents;  // likewise, of the watcher inside; each once
  std::string wrong;
  bool quiet() const;  // nothing runs, nothing is released

  core::Result<std::vector<engine::SlurmQueueLine>> Queue() override;
  core::Result<std::vector<engine::SlurmJob>> Jobs(const std::vector<std::int64_t>& ids) override;
  core::Result<std::vector<engine::SlurmJob>> Check(const std::vector<std::int64_t>& ids,
                                                    const std::vector<std::string>& names) override;
  core::Result<std::vector<engine::SlurmNode>> Nodes() override;
  core::Result<std::vector<engine::SlurmReservation>> Reservations() override;
  core::Result<std::map<std::string, core::Seconds>> PartitionLimits() override {
    return partition_limits;
  }
  engine::SlurmShares Shares() override { return shares; }
  engine::SlurmPreemption Preemption() override { return preemption; }
  core::Result<std::optional<engine::SlurmJob>> Accounted(std::int64_t id) override;
  core::Result<std::string> Control(const std::vector<std::string>& lines) override;
  core::Result<std::string> Cancel(const std::vector<std::string>& names) override;
  core::Result<std::string> Version() override { return std::string("slurm 22.05.8"); }

 private:
  struct Job {
    std::set<std::string> slots_ever;  // that it was ever given
    int cpus_a_task = 1;
    engine::SlurmJob slurm;
    Told told;
    core::Seconds ends;                   // of one that runs
    std::optional<core::Seconds> leaves;  // told to: when it is gone
    bool requeues = false;                // and waits again then,
    std::string held_as;                  // held for this reason; empty: it is not held
  };
  Fault NextFault();
  std::string CarryOut(const std::string& line);
  std::string Update(Job& job, const std::vector<std::string>& words, std::size_t most);
  Job* Named(const std::string& name);
  void StartJobs();
  bool HasRoom(const Job& job) const;
  int CpusGiven(const Job& job) const;
  void Requeue(Job& job, const std::string& held_as);
  void Happen();

  Dice dice_;
  core::Seconds now_;
  std::int64_t next_id_ = 1;
  std::map<std::int64_t, Job> jobs_;
  std::map<std::int64_t, engine::SlurmJob> accounted_;
  std::map<std::string, engine::SlurmNode> nodes_;
};

// A SlurmControl over it as a runner, on its clock. GPUs are called "GPU-0", ... as RunnerHistory
// has them, or by their Slurm names.
class FakeSlurmRunner : public engine::Runner, public engine::ForeignQueue {
 public:
  FakeSlurmRunner(FakeSlurm& slurm, bool gpu_numbers);
  static engine::SlurmControlOptions Options(FakeSlurm& slurm);

  core::Seconds Now() override { return slurm_.now(); }
  void Start(const engine::RunRequest& request) override;
  void Stop(engine::RunId id, const engine::StopOrder& order) override {
    Do([this, id, order] { order.cancels ? control.Cancel(id) : control.Stop(id); });
  }
  void Change(engine::RunId, const engine::RunBounds&) override {}
  std::vector<engine::RunRequest> Recover() override;
  bool Wait(std::optional<core::Seconds> until, std::vector<engine::RunEvent>& out) override;
  std::vector<engine::RunEvent> Hear(core::Seconds time);  // all that is told within it
  void Wake() override {}
  void Forget(engine::RunId id) override {
    Do([this, id] { control.Forget(id); });
  }
  std::string Problem() override {
    return control.problem().empty() ? "" : "Slurm: " + control.problem();
  }
  void Expect(std::int64_t job) override { control.Expect(job); }
  void CancelWaiting(std::int64_t job) override { control.CancelWaiting(job); }
  void ShowReason(std::int64_t job, const std::string& words) override { reasons_[job] = words; }

  engine::SlurmControl control;
  std::function<void(const engine::RunRequest&)> before_start = {};
  // Commands come while a look is under way, or between two, where starts need not wait for one.
  bool between = false;
  std::optional<core::Seconds> list_every = {};  // it tells all that is there

 private:
  void Do(std::function<void()> command);
  bool CarryOut();  // false: there was nothing to do

  FakeSlurm& slurm_;
  std::map<std::int64_t, std::string> reasons_ = {};
  const bool gpu_numbers_;
  core::Seconds due_;
  core::Seconds listed_at_;
  bool asked_ = true;
  std::vector<std::function<void()>> commands_ = {};
};

// For RunnerHistory: its jobs are submitted to Slurm as they are first started.
class SlurmSide : public RunnerSide {
 public:
  SlurmSide(int nodes, std::uint64_t seed, double chance_of_fault);
  engine::Runner& runner() override { return runner_; }
  void NodeGoes(const std::string& name) override;
  void NodeComes(const engine::RunnerNode& node) override;
  bool quiet() const override { return slurm.quiet(); }
  std::string wrong() const override { return slurm.wrong; }

  FakeSlurm slurm;

 private:
  Dice dice_;
  FakeSlurmRunner runner_;
};

}  // namespace sharewell::fixtures
