// Snapshot: nodes, what runs where, the queue with estimates, and the time. One snapshot lives as
// long as the loop and is changed in place by it alone; a policy reads it and never keeps it.
// Holds belief and observation only: nothing here tells what the simulator's world knows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/cluster.h"
#include "core/estimate.h"
#include "core/job/job.h"
#include "core/plan.h"
#include "core/renumbering.h"

namespace sharewell::core {

enum class JobState : std::uint8_t { kWaiting, kRunning, kFinished, kFailed };

// A job as the loop sees it.
struct JobView {
  Job job;
  Estimate estimate;
  JobState state = JobState::kWaiting;
  Allocation allocation;  // where it runs, or where it last ran
  Seconds since;          // in this state
  Seconds attained;       // work done when last observed, in seconds alone on the reference model
  Seconds observed;       // when
  Ratio rate = 0;         // work a second, as observed since
  Seconds run_time;       // up to `observed`, in all its runs
  Seconds startup;        // of that, before a run's first step: no neighbour's fault
  Seconds alone_time;     // what its work so far takes it alone, on the GPU models it ran on
  int restarts = 0;
  int ooms = 0;                    // after one it runs alone; those of a guest do not count
  std::optional<Bytes> guest_oom;  // the most with which it ran out of memory as a guest
  int evictions = 0;               // after kEvictionsAlone likewise
  bool profiled = false;           // its estimate was measured on it
  bool told = false;  // nothing was known of it when it started where it runs; by now it is
  Ratio throttle = 1;
  bool paused = false;  // it waits with its process alive: it goes on where `allocation` says
  bool stays = false;   // it runs, and its manager does not let it be stopped now

  bool cpu_only() const { return job.gpus == 0; }
  bool may_stop() const { return !job.keeps_place && !stays; }
  // Nobody may share its GPUs, because its user or what became of it says so.
  bool must_be_alone() const { return job.exclusive || ooms > 0 || evictions >= kEvictionsAlone; }
};

// The most GPU memory that it may take, as a guest that is kept to so much of it, or as none.
Bytes GpuMemoryUpper(const JobView& view, const std::optional<Bytes>& as_guest);
// The same, where it runs; of one that waits, wherever it goes.
Bytes GpuMemoryUpper(const JobView& view);

// The host memory that it reserves on a node where it has `gpus` of its GPUs (a CPU-only job: all
// of it): the larger of what was asked for and what it is believed to need at most, in whole bytes,
// so that sums are exact. What is not known reserves nothing. A belief alone never asks for more
// than the node has: such a job runs there with no other that needs memory. None where the node's
// memory is not known.
Bytes HostMemoryOn(const Node& node, const JobView& view, int gpus);
// What it holds there while it is paused: that, and what it had on those GPUs, which lies on the
// host meanwhile.
Bytes PausedMemoryOn(const Node& node, const JobView& view, int gpus);
// What was asked for alone: a node with less is no place for it.
Bytes HostMemoryAskedOn(const JobView& view, int gpus);

// What happened since the last decision. Memos are kept up to date from these.
struct Change {
  enum class Kind : std::uint8_t {
    kSubmitted,
    kStarted,
    kStopped,
    kMoved,
    kFinished,
    kFailed,
    kProfiled
  };
  Kind kind;
  JobId job;
};

constexpr int kMaxJobsOnGpu = 8;

// What a user used a day ago counts half of what is used now, and two days ago a quarter.
constexpr Seconds kUsageHalfLife{24 * 3600};

class Residents {
 public:
  std::span<const JobId> jobs() const { return {jobs_.data(), count_}; }
  int count() const { return count_; }
  void Add(JobId job);
  void Remove(JobId job);
  void Renumber(const Renumbering& ids);  // REQUIRES: all stay

 private:
  // One more than jobs: what keeps a full GPU from being used has a place too.
  std::array<JobId, kMaxJobsOnGpu + 1> jobs_;
  std::uint8_t count_ = 0;
};

class Snapshot {
 public:
  // `cluster` must outlive it.
  explicit Snapshot(const Cluster& cluster, Seconds restart_cost = Seconds(30));

  // Reading: policies.
  Seconds now() const { return now_; }
  const Cluster& cluster() const { return *cluster_; }
  std::size_t job_count() const { return jobs_.size(); }
  const JobView& job(JobId id) const { return jobs_[id.index()]; }
  std::span<const JobId> waiting() const { return waiting_; }  // in no order
  std::span<const JobId> running() const { return running_; }  // in no order
  const Residents& residents(GpuId gpu) const { return residents_[gpu.index()]; }
  int idle_gpus(NodeId node) const { return idle_[node.index()]; }
  int idle_gpus() const { return idle_total_; }
  double cores_used(NodeId node) const { return cores_used_[node.index()]; }
  // Of those, what CPU-only jobs have that may be stopped.
  double cpu_only_cores(NodeId node) const { return cpu_only_cores_[node.index()]; }
  Bytes memory_used(NodeId node) const { return memory_used_[node.index()]; }  // of the host
  Bytes cpu_only_memory(NodeId node) const { return cpu_only_memory_[node.index()]; }  // likewise
  // GPU memory that processes hold which are no jobs of ours.
  Bytes foreign_memory(GpuId gpu) const { return foreign_memory_[gpu.index()]; }
  bool any_foreign_memory() const { return any_foreign_memory_; }
  int cpu_only_jobs() const { return cpu_only_jobs_; }  // waiting or running
  int staying() const { return staying_; }              // jobs that JobView::stays is said of
  Seconds attained(const JobView& view) const;          // now
  Seconds run_time(const JobView& view) const;          // now
  Seconds alone_time(const JobView& view) const;        // now
  // Work left as believed; absent where the duration is. Never 0 for a job that still runs.
  std::optional<Seconds> remaining(const JobView& view) const;
  Seconds restart_cost(const JobView& view) const;
  double usage(UserId user) const;   // GPU seconds up to now, older ones counted less
  int gpus_held(UserId user) const;  // by those of the user's jobs that run
  double weight(UserId user) const;  // of the user's job that was submitted last
  // When somebody last came to that GPU or left it.
  Seconds changed(GpuId gpu) const { return changed_[gpu.index()]; }
  // Believed work of all who wait or run, in GPU seconds alone on the reference model, and of those
  // who wait alone. Jobs of unknown length count ten minutes.
  struct Backlog {
    double all = 0;
    double waiting = 0;
  };
  Backlog backlog() const;
  // When the youngest job that was ever started had been submitted: who was submitted well before
  // it and still waits was overtaken.
  Seconds youngest_started() const { return youngest_started_; }
  // The latest instants at which somebody submitted, oldest first; at most kArrivals.
  static constexpr std::size_t kArrivals = 11;
  std::span<const Seconds> arrivals() const { return arrivals_; }

  // Writing: the loop.
  void AdvanceTo(Seconds now);
  void Grow();  // nodes were added to the cluster: they are here from now on, idle
  void Submit(Job job, Estimate estimate);         // REQUIRES: job.id == job_count()
  void AddUsage(UserId user, double gpu_seconds);  // of a time before this snapshot; as of now
  void Start(JobId id, const Allocation& to);
  void Stop(JobId id, bool evicted = false);
  // Its stop was refused: it has run there all the while, since then.
  void TakeBack(JobId id, const Allocation& where, Seconds since);
  void SetStays(JobId id, bool stays);  // of one that runs; until it leaves
  void Pause(JobId id);                 // a Stop that keeps its process: it goes on where it was
  // A waiting job has a process there, from before this snapshot knew of it; or none any more.
  void SetPaused(JobId id, const std::optional<Allocation>& where);
  void Move(JobId id, const Allocation& to);
  void Finish(JobId id, JobState how);  // kFinished or kFailed; a waiting job may fail too
  void Resize(JobId id, double cores);
  void SetThrottle(JobId id, Ratio share);
  void SetForeignMemory(GpuId gpu, Bytes held);  // memos do not hear of it
  // Likewise: of a node, beside what jobs use of it.
  void SetForeignHost(NodeId node, double cores, Bytes memory);
  // Running jobs.
  void Observe(JobId id, Seconds attained, Ratio rate, Seconds startup);
  void SetEstimate(JobId id, Estimate estimate, bool profiled);
  void CountOom(JobId id);
  // Jobs that are over and do not stay are forgotten; the others have new ids, and are as they
  // were. REQUIRES: ids.before() == job_count(), and all who wait or run stay.
  void Renumber(const Renumbering& ids);

  // Cores of an allocation on one node; a gang's are spread as its GPUs are.
  static double CoresOn(const Cluster& cluster, const Allocation& where, NodeId node);

  // Calls visit(NodeId, GPUs there) for each node of an allocation; a CPU-only job's has none.
  template <class Visit>
  static void EachNode(const Cluster& cluster, const Allocation& where, Visit visit) {
    if (where.gpus.empty()) {
      if (where.node.valid()) visit(where.node, 0);
      return;
    }
    // GPUs are in rising order, and those of a node follow each other.
    for (std::size_t i = 0, next = 0; i < where.gpus.size(); i = next) {
      const NodeId node = cluster.NodeOf(where.gpus[i]);
      for (next = i + 1; next < where.gpus.size() && cluster.NodeOf(where.gpus[next]) == node;) {
        ++next;
      }
      visit(node, static_cast<int>(next - i));
    }
  }

 private:
  Seconds AloneTime(const JobView& view, Seconds attained) const;
  struct Usage {
    double gpu_seconds = 0;  // as of `at`
    Seconds at;
    int gpus = 0;  // held since
    double weight = 1;
  };
  // The backlog is left - pace x now: kept as sums so that reading it is O(1).
  struct Sums {
    double left = 0;
    double pace = 0;
    double waiting = 0;
  };

  void Occupy(JobId id, const Allocation& where, int sign);
  void HoldMemory(const JobView& view, const Allocation& where, int sign);
  Usage& UsageNow(UserId user);
  void CountBacklog(const JobView& view, int sign);
  void Enter(JobId id, JobState state);
  JobView& at(JobId id) { return jobs_[id.index()]; }

  const Cluster* cluster_;
  Seconds default_restart_cost_;
  Seconds now_;
  std::vector<JobView> jobs_;
  std::vector<JobId> waiting_;
  std::vector<JobId> running_;
  std::vector<std::uint32_t> position_;  // of a job in waiting_ or running_
  std::vector<Residents> residents_;
  std::vector<int> idle_;
  std::vector<Seconds> changed_;
  std::vector<Bytes> foreign_memory_;
  bool any_foreign_memory_ = false;
  struct ForeignHost {
    double cores = 0;
    Bytes memory;
  };
  std::vector<ForeignHost> foreign_host_;  // by node: part of what is used
  int idle_total_ = 0;
  std::vector<double> cores_used_;
  std::vector<double> cpu_only_cores_;
  std::vector<Bytes> memory_used_;
  std::vector<Bytes> cpu_only_memory_;
  int cpu_only_jobs_ = 0;
  int staying_ = 0;
  Seconds youngest_started_;
  std::vector<Seconds> arrivals_;
  Sums sums_;
  std::vector<Usage> usage_;  // by user; what is held since is added on reading
};

}  // namespace sharewell::core
