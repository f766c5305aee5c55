// ServerAdvisor: what the server believes of jobs. What a client brings, a stored profile, or what
// earlier runs of the same were seen to need, first by the same user (run_memory.h); and the policy
// that stands on it, with all pairs that were ever measured. Every run that ended well becomes a
// profile, and corrects predictions.
//
// The loop's thread alone, but for what says otherwise.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "catalogue/gpu_catalogue.h"
#include "control/service/advisor.h"
#include "core/cluster.h"
#include "core/metric.h"
#include "core/result.h"
#include "core/units.h"
#include "policy/options.h"
#include "server/learn/run_memory.h"
#include "store/job_store.h"
#include "store/learning_store.h"
#include "store/store.h"

namespace sharewell::server {

struct AdvisorOptions {
  std::string policy = "sharewell";  // as policy::NewPolicy has it
  core::Ratio max_slowdown = 1.25;   // of jobs that state none
  double match_patience = policy::Options().match_patience;
  bool sm_shares = true;                             // MPS keeps jobs to their share of the SMs
  bool pauses_runs = false;                          // as policy::Options has it
  core::Seconds pause_after{60};                     // likewise
  std::vector<core::Ratio> project_shares = {};      // likewise
  bool projects_reclaim = false;                     // likewise
  std::size_t most_runs_read = 5000;                 // of the store's finished jobs, at the start
  std::size_t most_profiles_kept = 20'000;           // of those that jobs left, or a few more
  std::function<void(const std::string&)> log = {};  // what could not be stored
  // Why no container can be run here, where none can; empty: nobody asks.
  std::function<core::Result<void>()> check_images = {};
  // A run that the predictor may learn from; must not wait.
  std::function<void(store::KeptRun)> learn = {};
};

class ServerAdvisor final : public control::Advisor {
 public:
  // Reads what earlier runs left in the stores; of their profiles the newest stay, and the others
  // are removed. Fails on an unknown policy or a store that cannot be read. All references must
  // outlive it.
  static core::Result<std::unique_ptr<ServerAdvisor>> New(const core::Cluster& cluster,
                                                          const catalogue::GpuCatalogue& catalogue,
                                                          store::ProfileStore& profiles,
                                                          store::JobStore& jobs,
                                                          const AdvisorOptions& options);
  ~ServerAdvisor() override;

  core::Result<void> Check(const core::Account& user, const core::Submission& submission) override;
  core::Needs NeedsOf(const core::Account& user, const core::Submission& submission) override;
  core::Needs NeedsTold(const core::JobRecord& record) override;
  core::Estimate EstimateOf(const core::JobRecord& record) override;
  core::WorkloadId WorkloadOf(const core::Account& user,
                              const core::Submission& submission) override;
  const policy::Policy& Policy() override;
  void LearnShared(const core::SharedRun& run) override;
  std::optional<core::Ratio> SpeedWithShare(const core::Demand& demand,
                                            core::Ratio sm_share) override;
  // `seen.steps_per_second`: of the job alone, where that was measured in this run.
  void LearnRun(const core::JobRecord& record, const core::Profile& seen) override;
  void LearnStep(const core::JobRecord& record, const core::Profile& seen) override;

  // Whose runs taught what. Any thread.
  std::map<std::string, Lessons> Taught() const;
  // What that user's runs taught is not believed any more from the next question on. Any thread.
  void Forget(const std::string& user);

 private:
  struct Impl;
  explicit ServerAdvisor(std::unique_ptr<Impl> inside);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sharewell::server
