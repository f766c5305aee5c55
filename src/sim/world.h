// World: a simulated cluster in which jobs really progress, by truth. Event driven, pure, and in
// one thread; the same calls give the same events. It carries out what it is told and judges
// nothing: checking a plan is the caller's work.
//
// A job's rate (work a second, work being seconds alone on the reference model) is the product of
//   its rate alone on the slowest of its GPU models,
//   its speed beside its neighbours on the worst of its GPUs, with the share of the SMs that each
//     was started with (interference; where the pair was not measured, with a seeded residual of
//     the size that model is known to err by),
//   its speed on the host: GPU share + host share / what the node's memory bandwidth and PCIe
//   leave, its throughput on the cores it was given (cores are modelled where the node states
//   them), the network, where it spans nodes that state theirs (CODA: 25-30 % lost on 10 Gb/s).
// While a job starts up (libraries, context, weights, loader) it holds its place and asks nothing
// of its GPUs and hosts: its neighbours do not feel it, and it does not feel them. A restart's cost
// is not like that: part of it is work done again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/cluster.h"
#include "core/job/job.h"
#include "core/plan.h"
#include "core/snapshot.h"
#include "interference/interference.h"
#include "sim/truth.h"

namespace sharewell::sim {

struct WorldOptions {
  std::uint64_t seed = 1;
  core::Seconds restart_cost{30};
  // False: sharing goes as the model of interference says, without what it errs by. For a world in
  // which something believed is played.
  bool residual = true;
  // Whether a job, of which nothing was known, tells at its second step what it is. Absent: none
  // does.
  std::function<bool(core::JobId)> tells = {};
};

// What a job went through.
struct JobOutcome {
  enum class End : std::uint8_t { kUnfinished, kFinished, kFailed, kInfeasible };
  End end = End::kUnfinished;
  std::optional<core::Seconds> first_start;
  core::Seconds finish;      // of whatever kind
  core::Seconds run_time;    // on its GPUs, restarts included
  core::Seconds restarting;  // of that, spent on start-up, restarts and running out of memory
  // What its progress would have taken there without neighbours and with all SMs, or with the share
  // that its user insisted on.
  core::Seconds undisturbed;
  int ooms = 0;
  int moves = 0;  // moves and preemptions
  int evictions = 0;
  core::Seconds evicted{};  // of `restarting`, what the starts after evictions took
  core::GpuModelId last_model;
};

// Integrals over time and GPUs (or cores), in GPU seconds (core seconds).
struct Totals {
  double busy = 0;  // min(1, sum of utilisation x speed)
  double sm = 0;
  double allocated = 0;  // at least one job
  double joules = 0;
  double cores_reserved = 0;
  double cores_used = 0;
  bool busy_known = true;  // false: some job's utilisation is not known
  bool power_known = true;
};

struct Progress {
  core::JobId job;
  core::Seconds attained;
  core::Ratio rate;
  core::Seconds startup;  // in all its runs
};

// How a running job is doing.
struct Course {
  core::Seconds attained;         // work done
  core::Ratio rate = 0;           // work a second, once it trains
  core::Seconds trains_from;      // in the future: it starts up, or does work again after a restart
  std::optional<core::Ratio> sm;  // of its one GPU, active by all jobs there
};

struct Events {
  std::vector<core::JobId> submitted, finished, failed, out_of_memory, profiled, told;
  std::vector<Progress> progress;  // every running job whose rate changed, or that starts up
  void Clear();
};

class World {
 public:
  // `jobs` in order of submission, ids 0, 1, ...; `truth` alongside. References must outlive it.
  World(const core::Cluster& cluster, const std::vector<core::Job>& jobs,
        const std::vector<TrueJob>& truth, const interference::Interference& interference,
        WorldOptions options);

  core::Seconds now() const { return now_; }
  // When something happens next by itself; absent when nothing ever will.
  std::optional<core::Seconds> NextEvent();
  // REQUIRES: now() <= t <= NextEvent().
  void AdvanceTo(core::Seconds t, Events& out);

  void Start(core::JobId id, const core::Allocation& to, std::optional<core::Seconds> profile);
  // `evicted`: its co-location broke a bound. That is counted apart, with what its next start
  // costs.
  void Stop(core::JobId id, bool evicted = false);
  // A Stop that keeps its process: its next start costs PauseCost, and no start-up.
  void Pause(core::JobId id);
  // The second half of a move; the first is a Stop.
  void Arrive(core::JobId id, const core::Allocation& to, bool free);
  void Resize(core::JobId id, double cores);
  void Throttle(core::JobId id, core::Ratio share);
  void Drop(core::JobId id);  // infeasible: it will never run
  // Works out the rates that the calls above changed; tells them in out.progress.
  void Settle(Events& out);

  // Brings the outcomes of jobs that still run up to now(): for a run that is cut short.
  void Close();

  Course CourseOf(core::JobId id) const;  // now. REQUIRES: it runs.

  const std::vector<JobOutcome>& outcomes() const { return outcomes_; }
  const Totals& totals() const { return totals_; }
  const std::vector<core::Job>& jobs() const { return *jobs_; }

 private:
  enum class EventKind : std::uint8_t { kFinish, kOom, kProfiled, kLoaded, kResume, kTold };
  struct Event {
    double time;
    EventKind kind;
    std::uint32_t job;
    std::uint32_t version;  // of the state's pace for kFinish, of its run for the others
    bool operator>(const Event& o) const;
  };
  struct State {
    core::Allocation where;
    bool running = false;
    bool dying = false;     // out of memory, not yet noticed
    bool hopeless = false;  // it would be even with the GPU to itself
    bool dirty = false;
    bool asks = false;       // of its hosts: it is counted there
    bool paused = false;     // its process waits
    bool evicted = false;    // its last stop was an eviction
    bool told = false;       // of its step
    std::uint32_t run = 0;   // counts placements: events of an earlier one no longer hold
    std::uint32_t pace = 0;  // counts rates: so does the end that an earlier rate promised
    core::Ratio rate = 0;
    core::Ratio undisturbed_rate = 0;  // rate over what neighbours leave of it
    core::Ratio speed = 0;             // rate over the rate alone on this GPU model
    core::Ratio throttle = 1;
    double cores_used = 0;
    core::Seconds attained, settled, started, startup;
    core::Seconds loaded_at;  // its start-up is over
    core::Seconds resume_at;  // and what a restart costs
  };
  struct GpuState {
    core::Residents residents;
    float speed[core::kMaxJobsOnGpu];  // alongside residents
    double busy = 0, sm = 0, watts = 0;
    bool dirty = false;
  };
  struct NodeState {
    double host_bandwidth = 0, pcie = 0;  // demanded
    double cores_reserved = 0;
    std::vector<core::JobId> cpu_jobs;
    bool dirty = false;
  };

  void Push(core::JobId id, core::Seconds at, EventKind kind);
  void Pop();
  bool Stale(const Event& event) const;
  void Place(core::JobId id, const core::Allocation& where, int sign);
  void AskHosts(core::JobId id, bool asks);  // for memory bandwidth and PCIe
  // Beside its neighbours, or with its GPUs to itself.
  bool RunsOutOfMemory(core::JobId id, bool alone) const;
  void Accumulate(core::Seconds t);
  void SettleProgress(core::JobId id);
  void MarkGpu(core::GpuId gpu);
  void MarkJob(core::JobId id);
  void MarkNode(core::NodeId node);
  bool StartsUp(core::JobId id) const { return states_[id.index()].loaded_at > now_; }
  void NeighbourSpeeds(core::GpuId gpu);
  core::Ratio HostSpeed(core::JobId id) const;
  // Alone on its GPU with the share that it was started with, over alone with all.
  core::Ratio SpeedOfShare(core::JobId id) const;
  void UpdateRate(core::JobId id, Events& out);
  void UpdateMeters(core::GpuId gpu);
  void Finish(core::JobId id, JobOutcome::End end);
  const core::Demand& DemandOn(core::JobId id, core::GpuId gpu) const;

  const core::Cluster* cluster_;
  const std::vector<core::Job>* jobs_;
  const std::vector<TrueJob>* truth_;
  const interference::Interference* interference_;
  WorldOptions options_;
  core::Seconds now_;
  std::size_t next_submission_ = 0;
  std::vector<State> states_;
  std::vector<GpuState> gpus_;
  std::vector<NodeState> nodes_;
  std::vector<Event> heap_;
  std::vector<core::GpuId> dirty_gpus_;
  std::vector<core::JobId> dirty_jobs_;
  std::vector<core::NodeId> dirty_nodes_;
  std::vector<core::JobId> starting_;  // start-up may not be over
  std::vector<JobOutcome> outcomes_;
  Totals totals_;
  double busy_now_ = 0, sm_now_ = 0, watts_now_ = 0, cores_reserved_now_ = 0, cores_used_now_ = 0;
  int allocated_now_ = 0;
};

}  // namespace sharewell::sim
