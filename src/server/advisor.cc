#include "server/advisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
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
#include "server/fits_here.h"
#include "server/kept_profiles.h"
#include "server/learning_rows.h"
#include "server/pair_memory.h"
#include "server/run_memory.h"
#include "server/stored_profiles.h"
#include "server/told_durations.h"

namespace sharewell::server {
namespace {

using core::GpuModel;
using core::Needs;
using core::ProfileRecord;
using core::Submission;

constexpr const char* kKeyFact = "workload key";  // in the environment of profiles from jobs
constexpr std::size_t kMostWordsKept = 100;

bool IsMeasured(const Needs& needs, const Submission& submission) {
  return needs.sources.busy == core::Source::kObserved &&
         (needs.profile.busy || submission.gpus == 0);
}

// For how long what it left was watched: its rate while it was alone, the rest while it ran.
core::Seconds SeenFor(const core::JobRecord& record, const core::Profile& seen) {
  return seen.steps_per_second && record.alone ? record.alone->over : record.run_time;
}

// Others' runs may say that a job needs more memory than its user or its own graph says, never that
// it needs less: one that is put where it does not fit fails.
void NeverBelow(Needs& needs, const Needs& own) {
  const auto raise = [](auto& figure, const auto& least) {
    if (least && (!figure || *figure < *least)) figure = least;
  };
  raise(needs.profile.gpu_memory, own.profile.gpu_memory);
  raise(needs.gpu_memory_upper, estimate::MemoryUpper(own));
  raise(needs.profile.host_memory, own.profile.host_memory);
}

// The newest of all, and of each user whose jobs left profiles as many as come to each: a flood of
// one user's must not hide what the others' took. The newest first.
core::Result<std::vector<core::JobRecord>> FinishedJobs(store::JobStore& jobs,
                                                        const std::vector<ProfileRecord>& kept,
                                                        std::size_t most) {
  store::JobFilter finished;
  finished.phases = {core::Phase::kFinished};
  finished.most = most;
  auto records = jobs.Jobs(finished);
  RETURN_IF_ERROR(records);
  if (records->size() < most) return records;  // those are all there are
  std::set<std::string> users;
  for (const ProfileRecord& record : kept) users.insert(record.user);
  std::set<std::int64_t> met;
  for (const core::JobRecord& record : *records) met.insert(record.number);
  for (const std::string& user : users) {
    finished.user = user;
    finished.most = std::max<std::size_t>(most / users.size(), 1);
    auto theirs = jobs.Jobs(finished);
    RETURN_IF_ERROR(theirs);
    for (core::JobRecord& record : *theirs) {
      if (met.insert(record.number).second) records->push_back(std::move(record));
    }
  }
  std::sort(records->begin(), records->end(),
            [](const auto& a, const auto& b) { return a.number > b.number; });
  return records;
}

// Whose runs those were that an earlier version kept without a name: of the one user who ran such a
// command, as far as jobs are remembered. Of several nobody knows, and they count for nobody.
class Adopted {
 public:
  explicit Adopted(const std::vector<core::JobRecord>& records) {
    for (const core::JobRecord& record : records) {
      const auto [known, fresh] =
          owner_.try_emplace(TextOf(DigestOf(core::WorkloadKey(record.asked))), record.user.name);
      if (!fresh && known->second != record.user.name) known->second.reset();
    }
  }
  std::optional<std::string> OwnerOf(const std::string& digest) const {
    const auto known = owner_.find(digest);
    return known == owner_.end() ? std::nullopt : known->second;
  }

 private:
  std::map<std::string, std::optional<std::string>> owner_;
};

}  // namespace

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
  ToldDurations durations;
  PairMemory pairs{cluster, builtin};
  StoredProfiles named{cluster, catalogue, profiles};
  KeptProfiles kept{profiles, options.most_profiles_kept, options.say};
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
      durations.Forget(user);
      pairs.Forget(user);
      kept.Forget(user);
      named.ChangedAll();
      learnt = true;
      if (const auto done = jobs.RemoveShared(user); !done) {
        Say("what " + user + "'s jobs taught by sharing was not removed: " + done.error().message);
      }
      Publish(user);
    }
  }

  void Say(const std::string& what) const {
    if (options.say) options.say(what);
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
    policy.interference = &built->interference;
    auto made = policy::NewPolicy(options.policy, policy);
    RETURN_IF_ERROR(made);
    built->policy = *std::move(made);
    return built;
  }

  std::optional<Needs> Brought(const core::Account& user, const Submission& submission) {
    if (submission.needs) {
      Needs needs = estimate::AsBrought(*submission.needs);
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
    Needs needs;
    needs.sources = core::Sources::All(core::Source::kObserved);
    needs.from = "profile " + submission.profile;
    needs.profile = (*found)->profile;
    if (!RateWasSeen(**found)) needs.profile.steps_per_second.reset();
    return needs;
  }

  // What runs say of it that count for this user.
  struct Measured {
    std::optional<Needs> needs;
    bool by_others = false;
  };
  Measured MeasuredOf(const core::Account& user, const Submission& submission) const {
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

  void Keep(const KeyDigest& key, const core::JobRecord& record);
};

void ServerAdvisor::Impl::Keep(const KeyDigest& key, const core::JobRecord& record) {
  auto profile = runs.RecordOf(record.user.name, key);
  if (!profile) return;
  profile->by_admin = record.user.admin;
  profile->name = core::DisplayName(record.asked);
  if (profile->profile.workload.name.empty()) profile->profile.workload.name = profile->name;
  profile->created = record.ended.value_or(record.submitted);
  const auto& command = record.asked.command;
  const auto words = static_cast<std::ptrdiff_t>(std::min(command.size(), kMostWordsKept));
  profile->command.assign(command.begin(), command.begin() + words);
  for (std::string& word : profile->command) word.resize(std::min<std::size_t>(word.size(), 4096));
  profile->environment = {{kKeyFact, TextOf(key)}};
  if (!record.gpus.empty()) profile->environment.emplace_back("gpu", record.gpus.front().model);
  profile->throughput_source = profile->profile.steps_per_second ? "progress file" : "none";
  profile->settled = true;
  profile->exit_code = record.exit_code;
  profile->notes = {fmt::format("measured while it ran; job {} was the last of {}", record.number,
                                profile->repeats)};
  if (const auto id = profiles.Save(*profile)) {
    runs.Kept(record.user.name, key, *id);
    named.Changed(*id, profile->name);
    kept.Add(record.user.name, *id, profile->created);
  } else {
    Say("the profile of job " + std::to_string(record.number) +
        " was not stored: " + id.error().message);
  }
}

core::Result<std::unique_ptr<ServerAdvisor>> ServerAdvisor::New(
    const core::Cluster& cluster, const catalogue::GpuCatalogue& catalogue,
    store::ProfileStore& profiles, store::JobStore& jobs, const AdvisorOptions& options) {
  auto inside = std::make_unique<Impl>(cluster, catalogue, profiles, jobs, options);
  const auto kept = inside->kept.Read();
  RETURN_IF_ERROR(kept);
  const auto records = FinishedJobs(jobs, *kept, options.most_runs_read);
  RETURN_IF_ERROR(records);
  const Adopted adopted(*records);
  auto shared = jobs.SharedRuns();
  RETURN_IF_ERROR(shared);
  for (core::SharedRun& run : *shared) {
    for (auto [user, key] : {std::pair(&run.user_a, &run.a), std::pair(&run.user_b, &run.b)}) {
      if (user->empty()) *user = adopted.OwnerOf(TextOf(DigestOf(*key))).value_or("");
    }
    inside->pairs.Add(run);
  }
  using OwnedText = std::pair<std::string, std::string>;  // user, key
  std::map<OwnedText, const ProfileRecord*> by_key;       // the newest of each
  std::vector<OwnedText> keys;                            // the oldest first
  for (const ProfileRecord& record : *kept) {
    for (const auto& [fact, value] : record.environment) {
      if (fact != kKeyFact) continue;
      const auto user = record.user.empty() ? adopted.OwnerOf(value) : record.user;
      if (!user) continue;
      if (record.user.empty()) inside->named.Adopt(record.id, *user);
      by_key[{*user, value}] = &record;
      keys.emplace_back(*user, value);
    }
  }
  // How long each took is in its record, what it needed in its key's profile.
  std::map<OwnedText, const core::JobRecord*> predicted;
  for (auto it = records->rbegin(); it != records->rend(); ++it) {  // the oldest first
    const KeyDigest key = DigestOf(core::WorkloadKey(it->asked));
    core::Profile nothing;
    nothing.workload = it->believed.profile.workload;
    inside->runs.Add(it->user.name, key, it->number, nothing, {core::TimeTaken(*it), {}});
    inside->LearnDuration(*it);
    const auto& needs = it->asked.needs;
    if (needs && needs->sources.busy == core::Source::kPredicted && !needs->retrained) {
      predicted[{it->user.name, TextOf(key)}] = &*it;
    }
  }
  for (const OwnedText& owned : keys) {
    const auto key = DigestFrom(owned.second);
    if (!key) continue;
    const ProfileRecord* record = by_key[owned];
    inside->runs.Restore(owned.first, *key, *record);
    if (const auto it = predicted.find(owned); it != predicted.end()) {
      inside->runs.Compare(owned.first, *key, estimate::AsBrought(*it->second->asked.needs).profile,
                           record->profile);
    }
  }
  for (const std::string& user : inside->runs.Users()) inside->Publish(user);
  auto built = inside->Build();
  RETURN_IF_ERROR(built);
  return std::unique_ptr<ServerAdvisor>(new ServerAdvisor(std::move(inside)));
}

ServerAdvisor::ServerAdvisor(std::unique_ptr<Impl> inside) : impl_(std::move(inside)) {}
ServerAdvisor::~ServerAdvisor() = default;

std::map<std::string, Lessons> ServerAdvisor::Taught() const {
  const platform::MutexLock lock(impl_->mutex);
  return impl_->taught;
}

void ServerAdvisor::Forget(const std::string& user) {
  const platform::MutexLock lock(impl_->mutex);
  impl_->forget.push_back(user);
  impl_->taught.erase(user);
}

core::Result<void> ServerAdvisor::Check(const core::Account& user, const Submission& submission) {
  impl_->ForgetNow();
  if (!submission.profile.empty()) {
    if (auto ok = impl_->named.Check(user.name, submission.profile); !ok) return ok;
  }
  if (!submission.image.empty()) {
    if (auto ok = engine::CheckImage(submission.image); !ok) return ok;
  }
  return CheckFitsHere(submission, impl_->cluster);
}

Needs ServerAdvisor::NeedsOf(const core::Account& user, const Submission& submission) {
  impl_->ForgetNow();
  auto brought = impl_->Brought(user, submission);
  const auto [runs, by_others] = impl_->MeasuredOf(user, submission);
  // Measured here, on the job itself, stands before any prediction.
  const bool measured = runs && IsMeasured(*runs, submission);
  if (measured && (!brought || brought->sources.busy != core::Source::kObserved)) {
    Needs needs = *runs;
    if (brought) estimate::FillFrom(needs, *brought);
    if (brought && by_others) NeverBelow(needs, *brought);
    return needs;
  }
  if (brought) {
    if (runs) estimate::TakeObservedPace(*brought, *runs);
    if (runs) estimate::FillFrom(*brought, *runs);
    return *std::move(brought);
  }
  if (runs) {
    Needs needs = *runs;
    needs.sources.busy = core::Source::kAssumed;
    if (submission.gpus > 0) {
      needs.from += "; what it needs of a GPU was not measured, so it is assumed to fill one";
    }
    return needs;
  }
  Needs needs;
  needs.from = submission.gpus > 0 ? "nothing is known about it, so it is assumed to fill its GPU"
                                   : "nothing is known about it";
  return needs;
}

core::Estimate ServerAdvisor::EstimateOf(const core::JobRecord& record) {
  return estimate::EstimateFor(
      record.believed, record.asked, impl_->cluster,
      [&models = impl_->catalogue](const std::string& name) { return models.Lookup(name); });
}

core::WorkloadId ServerAdvisor::WorkloadOf(const core::Account& user,
                                           const Submission& submission) {
  const std::string key = core::WorkloadKey(submission);
  const core::WorkloadId id = impl_->pairs.IdOf(OwnedDigest(user.name, key));
  std::optional<Needs> needs = impl_->Brought(user, submission);
  if (!needs) needs = impl_->runs.NeedsOf(user.name, DigestOf(key));
  if (needs && impl_->pairs.Name(id, needs->profile.workload)) impl_->learnt = true;
  return id;
}

const policy::Policy& ServerAdvisor::Policy() {
  Impl& in = *impl_;
  if (in.learnt) {
    // New() has made one of the same name and options before.
    in.before = std::exchange(in.now, in.Build().value());
    in.learnt = false;
  }
  return *in.now->policy;
}

void ServerAdvisor::LearnShared(const core::SharedRun& run) {
  impl_->pairs.Add(run);
  impl_->learnt = true;
}

std::optional<core::Ratio> ServerAdvisor::SpeedWithShare(const core::Demand& demand,
                                                         core::Ratio sm_share) {
  if (!demand.known) return std::nullopt;
  return interference::SpeedAlone(demand, sm_share);
}

void ServerAdvisor::LearnRun(const core::JobRecord& record, const core::Profile& seen) {
  impl_->ForgetNow();
  const KeyDigest key = DigestOf(core::WorkloadKey(record.asked));
  core::Profile profile = seen;
  profile.workload = record.believed.profile.workload;
  if (!record.gpus.empty()) profile.gpu = record.gpus.front().model;
  if (profile.cpu_cores) {
    profile.cpu_cores = estimate::CoresNeeded(*profile.cpu_cores, record.cores, record.asked.gpus);
  }
  impl_->runs.Add(record.user.name, key, record.number, profile,
                  {core::TimeTaken(record), SeenFor(record, seen)});
  const auto& asked = record.asked.needs;
  if (asked && asked->sources.busy == core::Source::kPredicted && !asked->retrained) {
    impl_->runs.Compare(record.user.name, key, estimate::AsBrought(*asked).profile, seen);
  }
  impl_->LearnDuration(record);
  impl_->Keep(key, record);
  impl_->Publish(record.user.name);
  if (!impl_->options.learn) return;
  if (auto run = RunToKeep(record, seen)) impl_->options.learn(*std::move(run));
}

}  // namespace sharewell::server
