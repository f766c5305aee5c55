// What a ServerAdvisor is made of: shared by advisor.cc (what it answers and learns) and
// advisor_restore.cc (what it takes up from the stores). The loop's thread, but for what says
// otherwise.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "core/result.h"
#include "engine/local/container.h"
#include "estimate/needs_estimate.h"
#include "estimate/seen_needs.h"
#include "interference/interference.h"
#include "platform/mutex.h"
#include "policy/registry.h"
#include "server/learn/kept_profiles.h"
#include "server/learn/known_steps.h"
#include "server/learn/learning_rows.h"
#include "server/learn/pair_memory.h"
#include "server/learn/run_memory.h"
#include "server/learn/stored_profiles.h"
#include "server/learn/told_durations.h"
#include "server/live/advisor.h"
#include "server/live/fits_here.h"

namespace sharewell::server {

inline constexpr const char* kKeyFact = "workload key";  // in the environment of profiles from jobs

inline bool IsMeasured(const core::Needs& needs, const core::Submission& submission) {
  return needs.sources.busy == core::Source::kObserved &&
         (needs.profile.busy || submission.gpus == 0);
}

// For how long what it left was watched: its rate while it was alone, the rest while it ran.
inline core::Seconds SeenFor(const core::JobRecord& record, const core::Profile& seen) {
  return seen.steps_per_second && record.alone ? record.alone->over : record.run_time;
}

struct ServerAdvisor::Impl {
  Impl(const core::Cluster& machine, const catalogue::GpuCatalogue& models,
       store::ProfileStore& stored, store::JobStore& job_store, const AdvisorOptions& chosen)
      : cluster(machine), catalogue(models), profiles(stored), jobs(job_store), options(chosen) {}

  const core::Cluster& cluster;
  const catalogue::GpuCatalogue& catalogue;
  store::ProfileStore& profiles;
  store::JobStore& jobs;
  const AdvisorOptions options;
  const core::Measurements builtin = catalogue::BuiltinMeasurements();
  RunMemory runs;
  KnownSteps steps;
  ToldDurations durations;
  PairMemory pairs{cluster, builtin};
  StoredProfiles named{cluster, catalogue, profiles};
  KeptProfiles kept{profiles, options.most_profiles_kept, options.log};
  // A policy and what it points to. The one before stays until the next is asked for.
  struct Built {
    interference::Interference interference;
    std::unique_ptr<policy::Policy> policy;
  };
  std::unique_ptr<Built> now, before;
  bool learnt = true;
  // What other threads read and ask for.
  mutable platform::Mutex mutex;
  std::map<std::string, Lessons> taught SHAREWELL_GUARDED_BY(mutex);
  std::vector<std::string> forget SHAREWELL_GUARDED_BY(mutex);

  void Publish(const std::string& user) {
    const Lessons lessons = runs.LessonsOf(user);
    const platform::MutexLock lock(mutex);
    if (lessons.workloads == 0) {
      taught.erase(user);
    } else {
      taught[user] = lessons;
    }
  }
  void ForgetNow() {
    std::vector<std::string> users;
    {
      const platform::MutexLock lock(mutex);
      users.swap(forget);
    }
    for (const std::string& user : users) {
      runs.Forget(user);
      steps.Forget(user);
      durations.Forget(user);
      pairs.Forget(user);
      kept.Forget(user);
      named.ChangedAll();
      learnt = true;
      if (const auto done = jobs.RemoveShared(user); !done) {
        Log("what " + user + "'s jobs taught by sharing was not removed: " + done.error().message);
      }
      Publish(user);
    }
  }

  void Log(const std::string& what) const {
    if (options.log) options.log(what);
  }

  core::Result<std::unique_ptr<Built>> Build() const {
    auto built = std::make_unique<Built>();
    built->interference = interference::Interference(pairs.Table());
    policy::Options policy;
    policy.max_slowdown = options.max_slowdown;
    policy.match_patience = options.match_patience;
    policy.sm_shares = options.sm_shares;
    // A client of MPS cannot be paused.
    policy.pauses_runs = options.pauses_runs && !policy::SharesGpus(options.policy);
    policy.pause_after = options.pause_after;
    policy.project_shares = options.project_shares;
    policy.projects_reclaim = options.projects_reclaim;
    policy.interference = &built->interference;
    auto made = policy::NewPolicy(options.policy, policy);
    RETURN_IF_ERROR(made);
    built->policy = *std::move(made);
    return built;
  }

  std::optional<core::Needs> Brought(const core::Account& user,
                                     const core::Submission& submission) {
    if (submission.needs) {
      core::Needs needs = estimate::AsBrought(*submission.needs);
      // What has learnt from runs here is not corrected by them once more.
      const bool unknown = needs.sources.busy == core::Source::kAssumed;
      if (!unknown && !needs.retrained) runs.Correct(user.name, needs);
      if (needs.from.empty()) needs.from = "the submission";
      if (needs.duration) {
        const core::Seconds told = *needs.duration;
        needs.duration = durations.Believed(user.name, told);
        if (*needs.duration > told) {
          needs.from += ", with a longer duration, as its user's last jobs took longer than told";
        }
      }
      return needs;
    }
    if (submission.profile.empty()) return std::nullopt;
    const auto found = named.Find(user.name, submission.profile);
    if (!found || *found == nullptr) return std::nullopt;
    core::Needs needs;
    needs.sources = core::Sources::All(core::Source::kObserved);
    needs.from = "profile " + submission.profile;
    needs.profile = (*found)->profile;
    if (!RateWasSeen(**found)) needs.profile.steps_per_second.reset();
    return needs;
  }

  // What runs say of it that count for this user.
  struct Measured {
    std::optional<core::Needs> needs;
    bool by_others = false;
  };
  Measured MeasuredOf(const core::Account& user, const core::Submission& submission) const {
    const KeyDigest key = DigestOf(core::WorkloadKey(submission));
    auto own = runs.NeedsOf(user.name, key);
    if (own && IsMeasured(*own, submission)) return {std::move(own), false};
    auto others = runs.OthersNeeds(user.name, key);
    if (others && IsMeasured(*others, submission)) return {std::move(others), true};
    return {std::move(own), false};
  }

  // How long it took, beside what its user had told.
  void LearnDuration(const core::JobRecord& record) {
    if (!record.asked.needs) return;
    const auto told = estimate::AsBrought(*record.asked.needs).duration;
    const auto taken = core::TimeTaken(record);
    if (told && taken) durations.Add(record.user.name, *told, *taken);
  }

  void LearnStep(const core::JobRecord& record, const core::Profile& profile,
                 const core::Profile& seen) {
    steps.Meet(record.user.name, LabelsOf(record.asked), *record.told);
    steps.Learn(record.user.name, *record.told, record.number, profile,
                {core::TimeTaken(record), SeenFor(record, seen)});
  }

  // What was seen of a run, as it is kept.
  static core::Profile KeptOf(const core::JobRecord& record, const core::Profile& seen) {
    core::Profile profile = seen;
    profile.workload = record.believed.profile.workload;
    if (!record.gpus.empty()) profile.gpu = record.gpus.front().model;
    if (profile.cpu_cores) {
      profile.cpu_cores =
          estimate::CoresNeeded(*profile.cpu_cores, record.cores, record.asked.gpus);
    }
    return profile;
  }

  void Keep(const KeyDigest& key, const core::JobRecord& record);
};

}  // namespace sharewell::server
