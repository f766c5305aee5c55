// How the service's parts are wired together, and one turn of them. Each part has one noun and a
// header of its own, is handed what it needs, and stands below those that it uses. All belong to
// the loop's thread, but for the mailbox, the board, the hub and the view.
#pragma once

#include <vector>

#include "control/loop/loop.h"
#include "control/loop/recorder.h"
#include "control/service/housekeeping.h"
#include "control/service/jobs/admission.h"
#include "control/service/jobs/beliefs.h"
#include "control/service/jobs/foreign_intake.h"
#include "control/service/jobs/job_actions.h"
#include "control/service/jobs/job_queue.h"
#include "control/service/jobs/submissions.h"
#include "control/service/mailbox.h"
#include "control/service/record/journal.h"
#include "control/service/record/plan_keeper.h"
#include "control/service/restorer.h"
#include "control/service/runs/host_watch.h"
#include "control/service/runs/node_keeper.h"
#include "control/service/runs/pace_watch.h"
#include "control/service/runs/pauses.h"
#include "control/service/runs/run_keeper.h"
#include "control/service/service.h"
#include "control/service/service_state.h"
#include "control/service/view/published_view.h"
#include "engine/live/live_engine.h"

namespace sharewell::control {

struct Service::Impl final : Recorder {
  Impl(core::Cluster& cluster, std::vector<GpuView> gpus, engine::Runner& runner, Advisor& advisor,
       store::JobStore& store, const ServiceOptions& options, JobMonitor* monitor);

  // The loop's side.
  void OnObserved() override;
  core::Result<void> OnPlan(const core::Snapshot& snapshot, const core::Plan& plan) override;
  void OnDecision(core::Seconds took) override;

  void Work();  // the thread
  bool Turn();  // false: the service is to end
  void TakeTurn(const core::Result<bool>& turned);
  void TakeNews();                              // what became of runs, jobs and nodes
  void Renumber(const core::Renumbering& ids);  // jobs have other ids from now on

  Mailbox mailbox;
  ServiceState state;
  Journal journal;
  PublishedView view;
  engine::LiveEngine engine;
  Admission admission;
  PaceWatch paces;
  Beliefs beliefs;
  Loop loop;
  Housekeeping housekeeping;
  JobQueue queue;
  NodeKeeper nodes;
  Pauses pauses;
  ForeignIntake foreign;
  HostWatch host;
  RunKeeper runs;
  PlanKeeper plans;
  Submissions submissions;
  JobActions actions;
  Restorer restorer;
};

}  // namespace sharewell::control
