// How the service's parts are wired together, and one turn of them. Each part has one noun and a
// header of its own, is handed what it needs, and stands below those that it uses. All belong to
// the loop's thread, but for the mailbox, the board, the hub and the view.
#pragma once

#include <vector>

#include "control/loop/loop.h"
#include "control/loop/recorder.h"
#include "control/service/beliefs.h"
#include "control/service/foreign_intake.h"
#include "control/service/host_watch.h"
#include "control/service/housekeeping.h"
#include "control/service/job_actions.h"
#include "control/service/job_queue.h"
#include "control/service/journal.h"
#include "control/service/node_keeper.h"
#include "control/service/pace_watch.h"
#include "control/service/parts/admission.h"
#include "control/service/parts/mailbox.h"
#include "control/service/pauses.h"
#include "control/service/plan_keeper.h"
#include "control/service/published_view.h"
#include "control/service/restorer.h"
#include "control/service/run_keeper.h"
#include "control/service/service.h"
#include "control/service/service_state.h"
#include "control/service/submissions.h"
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
