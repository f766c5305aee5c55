// Backend: what runs a server's jobs: this machine (live/local_backend.cc), a Slurm cluster
// (slurm/slurm_backend.cc) or a Kubernetes cluster (kubernetes/kube_backend.cc). It owns its runner
// and all that its kind alone needs (the watch of this machine; the lock, the lease, predictions,
// and what hears agents in a cluster). The rest of the server has its face, and asks for no kind.
//
// All on the thread that starts and ends the server, in this order:
//   NewBackend  before anything is written; only this machine is looked at
//   Open        once there are stores and a learner: whoever else is at work there is found first
//               (lock, lease), then what it has and what runs; it runs nothing yet
//   Watch       once there is somewhere to write what is seen
//   TellStarts  once the service is made, which need not have begun
//   Stop        once the service has stopped, before the learner and the writer go: it uses them
//               no more, and the face's watch is gone; wherever a start has failed too
// It is destroyed after whatever has its face, before the stores: first the runner, then what that
// one uses, and what keeps others away from the jobs only when the runner is gone.
//
// What the face points to is the backend's own, and called from whatever threads its own header
// allows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/access/privacy.h"
#include "api/api.h"
#include "catalogue/gpu_catalogue.h"
#include "control/service/service.h"
#include "core/result.h"
#include "engine/foreign_queue.h"
#include "engine/local/run/log_ledger.h"
#include "engine/pauser.h"
#include "engine/runner.h"
#include "server/learn/learner.h"
#include "server/live/job_watch.h"
#include "server/live/this_machine.h"
#include "server/server.h"
#include "server/settings/settings.h"
#include "server/settings/state_folder.h"
#include "store/job_store.h"

namespace sharewell::server {

// Complete once it is open, but for what is watched.
struct BackendFace {
  MachineHere machine;
  engine::Runner* runner = nullptr;
  engine::ForeignQueue* foreign_queue = nullptr;  // null: jobs are submitted here
  engine::Pauser* pauser = nullptr;               // null: no run can be paused
  control::JobMonitor* monitor = nullptr;
  const JobWatch* watch = nullptr;    // null: GPUs and logs are on other machines
  engine::LogLedger* logs = nullptr;  // likewise
  bool keeps_sm_shares = true;
  bool measure_host = false;  // nobody has measured yet what this machine's memory moves
  std::function<core::Result<void>()> check_images = {};  // empty: nothing to check
  // Where the cluster's manager has the logs of jobs (api::Studies); empty: it is not asked.
  decltype(api::Studies::remote_log) remote_log = {};
  std::string no_submissions = {};  // why; empty: jobs may be submitted
  api::Privacy privacy = {};        // whom the cluster lets see whose jobs
  // For people: what is to be said of it first, and what is served ("2 GPUs").
  std::vector<std::string> greeting = {};
  std::string serves = {};
};

// All outlive it, but the learner, which lives until Stop.
struct BackendNeeds {
  const Settings& settings;
  store::JobStore& jobs;
  Learner& learner;
  // Runs in the state folder are of another store: they end, and the folder is this one's.
  std::optional<StateOwner> takes_over;
};

class Backend {
 public:
  Backend(const ServerOptions& options, const catalogue::GpuCatalogue& catalogue)
      : options_(options), catalogue_(catalogue) {}
  virtual ~Backend() = default;
  const BackendFace& face() const { return face_; }
  core::Cluster& cluster() { return face_.machine.cluster; }  // the service changes it

  virtual core::Result<void> Open(const BackendNeeds& needs) = 0;
  // `look`: whom the watch tells, on its own thread. In a cluster agents on the nodes watch.
  virtual void Watch(JobWatchOptions look) = 0;
  // `find`: when the jobs that wait should start; it may be asked until Stop, on any thread. Where
  // the cluster's manager shows that to its users.
  virtual void TellStarts(const decltype(api::Studies::starts)& /*find*/) {}
  virtual void Stop() = 0;

 protected:
  const ServerOptions& options_;
  const catalogue::GpuCatalogue& catalogue_;
  BackendFace face_;
};

// Of the kind that the options name; both outlive it. Fails where declared GPUs cannot be read.
core::Result<std::unique_ptr<Backend>> NewBackend(const ServerOptions& options,
                                                  const catalogue::GpuCatalogue& catalogue);
core::Result<std::unique_ptr<Backend>> NewLocalBackend(const ServerOptions& options,
                                                       const catalogue::GpuCatalogue& catalogue);
std::unique_ptr<Backend> NewSlurmBackend(const ServerOptions& options,
                                         const catalogue::GpuCatalogue& catalogue);
std::unique_ptr<Backend> NewKubeBackend(const ServerOptions& options,
                                        const catalogue::GpuCatalogue& catalogue);

// How long ago this store first had a server, which is written into it then: runners' clocks go on
// from there, and times of jobs over restarts.
core::Result<core::Seconds> OriginOf(store::JobStore& jobs);

}  // namespace sharewell::server
