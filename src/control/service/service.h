// Service: the server's heart. The queue, the loop on a thread of its own, and what became of every
// job: stored before it is acted on, shown to readers, told to listeners.
//
// It is made of (service_impl.h): Restorer (how it comes to life), Mailbox (what was asked),
// Submissions and JobActions (what that is), Admission (who may come in, who is held), JobQueue
// (into the loop's queue and out of it), Loop (who decides), Beliefs (by what), PaceWatch (who
// slows whom, and how fast they were) and HostWatch (who starves), PlanKeeper (what was
// decided), LiveEngine (who runs), RunKeeper (what became of it), ToldSteps (what it tells of
// itself), Pauses, NodeKeeper (GPUs that come and go), ForeignIntake (jobs of a manager's own
// users), Journal (what is told and stored), PublishedView (what readers see) and Housekeeping.
// What they share is ServiceState.
//
// One job has these shapes between the flag and the process, each on its own side of a border:
//   core::Submission      what its user asked for: sent, stored, not changed by any decision
//   core::JobRecord       that, and all that became of it: stored and shown
//   LiveJob               a record that is not over, and what of it is true of this server alone
//   core::Job             what a policy may know of it; a trace makes them without a command
//   core::JobView         that in the snapshot: the estimate, its place, how far it is
//   engine::RunRequest    one attempt, as a runner is handed it: a submission and a place
//   engine::JobEntry      the engine's book: the job, and its Attempt to come or under way
//   JobSpec               one attempt as text in its folder, for a supervisor that has libc alone
//
// Answers come on the loop's thread, once what was asked is durable (and, for submissions, decided
// on for the first time).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "control/loop/guard.h"
#include "control/sampling/sampler.h"
#include "control/service/advisor.h"
#include "control/service/job_service.h"
#include "control/service/jobs/admission.h"
#include "control/service/runs/told_reader.h"
#include "control/service/view/gpu_table.h"
#include "core/cluster.h"
#include "core/job/submission.h"
#include "core/result.h"
#include "engine/foreign_queue.h"
#include "engine/pauser.h"
#include "engine/runner.h"
#include "store/job_store.h"

namespace sharewell::control {

struct ServiceOptions {
  AdmissionLimits limits = {};
  core::Ratio max_slowdown = 1.25;
  core::Seconds grace{20};
  bool alone = false;            // the policy never puts two jobs on one GPU
  core::Seconds pause_gap{60};   // between two pauses of a job, at least
  bool simulated_cores = false;  // as shown
  // What goes wrong and comes right again with the store; on the loop's thread.
  std::function<void(const std::string&)> log = {};
  GuardOptions guard = {};
  // Why nobody may submit here, with what to do instead; empty: they may.
  std::string no_submissions = {};
  // Jobs of that user never start as guests (core::Allocation), as sharewell.toml has it. Must not
  // wait; none: they may.
  std::function<bool(const core::Account& who)> alone_until_known = {};
  // The name that a uid has on this machine now; empty: nobody asks.
  std::function<std::string(std::uint32_t uid)> user_name = {};
  std::size_t few_ids = 1024;     // in the snapshot: not worth a look at who is over
  Clock* clock = &SystemClock();  // must outlive the service; asked on any thread
  // What the runner is beside that, and as long as it. Null: jobs are submitted here alone; none
  // can be paused.
  engine::ForeignQueue* foreign_queue = nullptr;
  engine::Pauser* pauser = nullptr;
  ToldReader* told_reader = nullptr;  // must outlive it; null: what jobs tell is not read
};

// What is read of a job on one GPU now.
struct JobReading {
  std::optional<core::Ratio> sm;          // of its GPU's SMs, that all jobs there keep active
  std::optional<core::Bytes> gpu_memory;  // the most it held so far
};

// JobMonitor: watches the processes of running jobs. Told and asked on the loop's thread; never
// waits.
class JobMonitor {
 public:
  virtual ~JobMonitor() = default;
  virtual void Began(const core::JobRecord& job) = 0;
  virtual void Ended(std::int64_t number) = 0;
  // More of its steps are counted than before. Of no use to a monitor that counts them itself.
  virtual void Stepped(std::int64_t) {}
  virtual core::Profile Seen(std::int64_t number) = 0;  // what it was seen to need so far
  virtual JobReading Now(std::int64_t number, const std::string& gpu) = 0;  // `gpu`: its uuid
  // The processes on it that are no jobs; by pid.
  virtual std::vector<Stranger> StrangersOn(const std::string& gpu);
};

class Service final : public JobService {
 public:
  // `jobs` is already its store's one server (BecomeServer). `gpus` by GpuId. Nodes that join are
  // added to `cluster` on the loop's thread; others read it in View(). All must outlive it;
  // `monitor` may be null.
  Service(core::Cluster& cluster, std::vector<GpuView> gpus, engine::Runner& runner,
          Advisor& advisor, store::JobStore& jobs, const ServiceOptions& options,
          JobMonitor* monitor = nullptr);
  ~Service() override;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Reads what the store knows, finds runs of an earlier server again, and starts the loop.
  core::Result<void> Start();
  void Stop();  // the loop ends; jobs run on
  // Start in two halves, for whoever drives the loop on its own thread: Turn until it is false.
  core::Result<void> Open();
  bool Turn();

  // What the monitor sees of others has changed. From any thread.
  void LookAgain();
  // What the memory of this machine moves, measured while it serves; shared out over its nodes as
  // their GPUs are. From any thread.
  void SetMemoryBandwidth(core::BytesPerSecond rate);
  // Something that happened beside the loop becomes an event of no job. From any thread.
  void Emit(std::string kind, std::string text);

  void Submit(std::vector<core::Submission> jobs, const core::Account& who,
              Answer<std::vector<JobPtr>> answer) override;
  void Act(Action action, std::int64_t number, const core::Account& who,
           Answer<JobPtr> answer) override;
  void Drain(const std::string& gpu, bool drained, const core::Account& who,
             Answer<void> answer) override;
  void Consider(core::Submission job, const core::Account& who,
                Answer<core::JobRecord> answer) override;
  void Ahead(std::int64_t number, Answer<std::optional<JobsAhead>> answer) override;
  std::optional<core::SpeedHistory> Speed(std::int64_t number) const override;
  std::optional<double> GpuHoursOfWeek(const std::string& user) const override;
  const JobBoard& board() const override;
  EventHub& events() override;
  ServiceView View() const override;

 private:
  struct Impl;
  void Do(std::function<void()> action);  // on the loop's thread

  Clock* const clock_;
  const std::string no_submissions_;  // why; empty: they are taken
  std::unique_ptr<Impl> impl_;
  std::thread thread_;  // the loop's; none where Turn is called
};

}  // namespace sharewell::control
