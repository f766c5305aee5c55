// How the service's parts are wired together. Everything here belongs to the loop's thread, except
// the mailbox, the board, the hub and the view.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "control/loop/estimator.h"
#include "control/loop/host_pressure.h"
#include "control/loop/loop.h"
#include "control/loop/recorder.h"
#include "control/service/pace_watch.h"
#include "control/service/parts/admission.h"
#include "control/service/parts/gpu_table.h"
#include "control/service/parts/live_jobs.h"
#include "control/service/parts/mailbox.h"
#include "control/service/parts/outbox.h"
#include "control/service/parts/place_in_line.h"
#include "control/service/parts/run_gate.h"
#include "control/service/parts/wall_time.h"
#include "control/service/service.h"
#include "core/snapshot.h"
#include "engine/live/live_engine.h"
#include "platform/mutex.h"

namespace sharewell::control {

constexpr const char* kCancelledBy = "cancelled by ";  // one of us, and who
// What its next attempt is made of: who and what, as stored.
engine::RunRequest RequestOf(const core::JobRecord& record);

struct Service::Impl final : Estimator, Recorder {
  struct Owed {  // an answer that waits for the first decision
    std::vector<std::int64_t> numbers;
    Answer<std::vector<JobPtr>> answer;
  };

  Impl(core::Cluster& all, std::vector<GpuView> views, engine::Runner& run, Advisor& advice,
       store::JobStore& store, const ServiceOptions& chosen, JobMonitor* watch);

  // The loop's side.
  core::Estimate Believe(const core::Job& job) const override;
  core::Estimate Measured(const core::Job& job) override;
  void OnObserved() override;
  core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) override;
  void OnDecision(core::Seconds took) override;
  void TellWaits(const core::Plan& plan);  // service_queue.cc

  // The thread: service.cc.
  void Work();
  bool Turn();  // false: the service is to end
  void TakeTurn(const core::Result<bool>& turned);
  void Tidy();
  void LookAtStore();
  void SetBusy(bool busy);
  std::optional<core::Seconds> BusyFor() const;  // any thread; absent: it waits for something
  void AnswerSubmitted();
  void Publish();  // the view
  core::UnixMillis Wall() const { return wall.At(runner.Now()); }
  core::Result<void> Commit(store::JobChanges changes = {});
  core::Result<void> CommitAll();

  // How a server comes to life: service_restore.cc.
  core::Result<void> Restore();
  // What users used of late: of jobs that are over (the newest), and of those that still run.
  void RestoreUsage(const std::vector<core::JobRecord>& over,
                    const std::vector<core::JobRecord>& live_ones);
  void RestoreOne(LiveJob& job, std::map<engine::RunId, engine::RunRequest>& runs);
  void RestoreHeld(LiveJob& job);
  void LookAgain();  // at held jobs of which the store could not say whether they may start
  bool TrustAgain(LiveJob& job, const std::map<engine::RunId, engine::RunRequest>& runs);
  void RestoreRun(LiveJob& job, const engine::RunRequest& run);

  // What users ask: service_actions.cc.
  void TakeSubmissions(std::span<SubmitRequest> requests);
  core::Result<void> Act(Action action, std::int64_t number, const core::Account& who);
  core::Result<void> Cancel(const LiveJob& job, const core::Account& who);
  core::Result<void> Hold(LiveJob& job);
  core::Result<void> Release(LiveJob& job);

  // Jobs that the users of a cluster's manager submit there: service_foreign.cc.
  void AdmitForeign();
  // Absent: the store cannot say. False: it is known, and nothing is to be done.
  core::Result<bool> IsNews(const engine::JobSubmitted& event);
  core::JobRecord ForeignRecord(const engine::JobSubmitted& event);
  void Handle(const engine::JobSubmitted& event) { foreign.push_back(event); }
  void Handle(const engine::JobWithdrawn& event);
  void Handle(const engine::TermsChanged& event);
  void Handle(const engine::GpuTaken& event);
  // Runs of jobs that the store does not know.
  core::Result<void> AdoptForeign(const std::map<engine::RunId, engine::RunRequest>& runs,
                                  std::vector<core::JobRecord>& records);

  // Pauses, by users and by plans: service_pauses.cc.
  core::Result<void> Pause(LiveJob& job, const core::Account& who);
  core::Result<void> Resume(LiveJob& job);
  core::Result<void> WhyNotPaused(const LiveJob& job);  // an error: it cannot be
  void TellGpuMemory(const LiveJob& job);               // to the engine
  void Handle(const engine::RunPaused& event) { HandlePause(event); }
  void Handle(const engine::RunResumed& event) { HandlePause(event); }
  void Handle(const engine::PauseRefused& event) { HandlePause(event); }
  void Handle(const engine::ResumeRefused& event) { HandlePause(event); }
  template <class Event>
  void HandlePause(const Event& event) {
    LiveJob* job = JobOfRun(event.id);
    if (job == nullptr) return;
    WritePause(*job, event);
    outbox.Touch(*job);
  }
  void WritePause(LiveJob& job, const engine::RunPaused& event);
  void WritePause(LiveJob& job, const engine::RunResumed& event);
  void WritePause(LiveJob& job, const engine::PauseRefused& event);
  void WritePause(LiveJob& job, const engine::ResumeRefused& event);
  // What a server that was killed has left of a paused job. False: its process is gone.
  bool RestorePaused(LiveJob& job, std::map<engine::RunId, engine::RunRequest>& runs);

  core::Result<void> Drain(const std::string& gpu, bool drained, const core::Account& who);

  // Into the loop's queue and out of it: service_queue.cc.
  core::Job JobOf(const core::JobRecord& record, core::JobId id);
  // With the next turn. Ids are given then: a reservation may come before.
  void Enqueue(std::int64_t number) { enqueued.push_back(number); }
  void EnqueueIfItFits(LiveJob& job);  // admitted earlier, perhaps by another machine; else held
  bool SubmitEnqueued();               // whether any went to the loop, so that a turn comes for it
  void ReleaseDependents(std::int64_t number, core::Phase how);
  // Between turns: when most ids are of jobs that are over, the others are given new ones.
  void RenumberIfMostAreOver();
  void Renumber(const core::Renumbering& ids);

  // GPUs and nodes that come and go: service_nodes.cc.
  void Handle(const engine::GpuLost& event);
  void Handle(const engine::GpuBack& event);
  void Handle(const engine::NodeCame& event);
  void Handle(const engine::NodeWent& event);
  void Handle(const engine::NodeChanged& event);
  void Handle(const engine::HostTaken& event);
  void KeepNode(core::NodeId id, bool reserved, bool exclusive);
  void AddNode(const engine::RunnerNode& node);
  void TryHeldAgain();
  // Processes on the GPUs that are no jobs: their memory is not free, and where they keep a GPU
  // busy it takes no jobs.
  void LookAtStrangers();
  // Whatever is unusable has something on it that keeps jobs away.
  void SeatReservations();
  void Reserve(core::JobId& by, bool unusable, int gpus_taken, const core::Allocation& where);

  // CPU-only jobs that starve a training job: service_host.cc.
  void LookAtHost();
  void HoldTo(const HostShare& told, const std::vector<core::JobId>& cpu_jobs);

  // What became of runs: service_runs.cc.
  void AfterTurn();
  void TakeNews();
  LiveJob* JobOfRun(engine::RunId id);  // null: it has no such attempt now
  void Handle(const engine::RunStarted& event);
  void Handle(const engine::TimeLimitReached& event);
  void Handle(const engine::StopRefused& event);
  void Handle(const engine::RunNote& event);
  void Handle(const engine::RunnerNote& event) { Say("gpu.note", 0, event.message); }
  // The engine keeps these for itself (LiveEngine::TakeNotes).
  void Handle(const engine::StartRefused&) {}
  void Handle(const engine::RunProgress&) {}
  void Handle(const engine::RunEnded&) {}
  void Handle(const engine::RunsListed&) {}
  void PutTerms(const LiveJob& job, core::Job& to) const;
  void TakeCores(LiveJob& job, const engine::RunStarted& started);
  void TakeEnd(const engine::Ended& ended);

  void Say(const char* kind, std::int64_t job, std::string text) {
    outbox.AddEvent(Wall(), kind, job, std::move(text));
  }

  core::Cluster& cluster;                             // it grows
  std::shared_ptr<const core::Cluster> cluster_copy;  // as readers see it; null: it has grown since
  engine::Runner& runner;
  Advisor& advisor;
  store::JobStore& jobs;
  const ServiceOptions options;
  JobMonitor* const monitor;  // may be null

  core::Snapshot snapshot;
  GpuTable gpus;
  engine::LiveEngine engine;
  std::optional<Loop> loop;
  HostPressure host_pressure;
  core::Seconds looked_at_host;
  JobBoard board;
  EventHub hub;
  LiveJobs live;
  Admission admission;
  RunGate gate;
  Outbox outbox;
  Mailbox mailbox;
  PaceWatch paces;
  PlaceInLine line;

  std::vector<std::int64_t> enqueued;
  std::vector<std::int64_t> look_again;            // held jobs: see LookAgain
  std::vector<engine::JobSubmitted> foreign;       // that are not stored yet
  core::Seconds foreign_pause;                     // until they are tried again
  std::vector<core::JobId> reserved_gpus;          // by GpuId; not valid: it may be used
  std::vector<core::JobId> reserved_nodes;         // by NodeId, likewise: their cores
  std::map<core::NodeId, std::string> not_shared;  // why each GPU of a node is one job's
  std::vector<bool> node_is_down;                  // by NodeId
  std::vector<Owed> answers;
  std::int64_t next_number = 1;
  WallTime wall;
  std::string plan_problem;                  // the policy's last plan was refused: why
  std::atomic<std::int64_t> busy_since{-1};  // by the clock's Steady, in ns; negative: it waits
  std::size_t look_at_ids = 0;               // when so many were given: whether most are over
  core::Seconds tidy_at;                     // old jobs and events are dropped next
  core::Seconds look_at_store;               // whether it is still there
  core::Seconds heard;                       // when the turn under way had heard what happened
  std::deque<double> turns;                  // the last ones' seconds
  std::int64_t decided = 0;
  JobTally tally;
  std::string policy_name;

  platform::Mutex view_mutex;
  ServiceView view SHAREWELL_GUARDED_BY(view_mutex);
  std::thread thread;
};

}  // namespace sharewell::control
