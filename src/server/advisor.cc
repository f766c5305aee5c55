#include "server/advisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "engine/local/container.h"
#include "estimate/needs_estimate.h"
#include "estimate/seen_needs.h"
#include "interference/interference.h"
#include "policy/registry.h"
#include "server/fits_here.h"
#include "server/learning_rows.h"
#include "server/pair_memory.h"
#include "server/run_memory.h"

namespace sharewell::server {
namespace {

using core::GpuModel;
using core::Needs;
using core::ProfileRecord;
using core::Submission;

using SteadyClock = std::chrono::steady_clock;

constexpr const char* kKeyFact = "workload key";  // in the environment of profiles from jobs
constexpr std::chrono::seconds kProfileKept{5};   // a named profile is not read again for so long
constexpr std::size_t kMostNamesRead = 1000;
constexpr std::size_t kMostWordsKept = 100;
constexpr std::size_t kRemovedAtOnce =
    100;  // of the profiles that jobs left; others wait meanwhile

// On a GPU of this machine before others, with a busy share before without, the newest of equals.
const ProfileRecord* BestProfile(const std::vector<ProfileRecord>& records,
                                 const core::Cluster& cluster,
                                 const catalogue::GpuCatalogue& catalogue) {
  const auto rank = [&](const ProfileRecord& record) {
    const auto model = catalogue.Find(record.profile.gpu);
    const std::string& name = model ? model->name : record.profile.gpu;
    const bool here = std::any_of(cluster.models().begin(), cluster.models().end(),
                                  [&](const GpuModel& m) { return m.name == name; });
    return std::tuple(here, record.profile.busy.has_value(), record.created, record.id);
  };
  const ProfileRecord* best = nullptr;
  for (const ProfileRecord& record : records) {
    if (best == nullptr || rank(record) > rank(*best)) best = &record;
  }
  return best;
}

}  // namespace

struct ServerAdvisor::Impl {
  Impl(const core::Cluster& machine, const catalogue::GpuCatalogue& models,
       store::ProfileStore& stored, const AdvisorOptions& chosen)
      : cluster(machine), catalogue(models), profiles(stored), options(chosen) {}

  const core::Cluster& cluster;
  const catalogue::GpuCatalogue& catalogue;
  store::ProfileStore& profiles;
  const AdvisorOptions options;
  const core::Measurements builtin = catalogue::BuiltinMeasurements();
  RunMemory runs;
  PairMemory pairs{cluster, builtin};
  struct ReadProfile {
    SteadyClock::time_point at;
    ProfileRecord record;
  };
  std::map<std::string, ReadProfile> read;  // by name
  std::vector<std::string> names;           // of all, as of names_at
  SteadyClock::time_point names_at{};
  // A policy and what it points to. The one before stays until the next is asked for.
  struct Built {
    interference::Interference interference;
    std::unique_ptr<policy::Policy> policy;
  };
  std::unique_ptr<Built> now, before;
  bool learnt = true;
  // The profiles of source "job" in the store, by when they were written: (created, id).
  std::set<std::pair<core::UnixMillis, std::int64_t>> kept_by_age;
  std::unordered_map<std::int64_t, core::UnixMillis> kept_since;  // by id

  void Say(const std::string& what) const {
    if (options.say) options.say(what);
  }

  core::Result<std::unique_ptr<Built>> Build() const {
    auto built = std::make_unique<Built>();
    built->interference = interference::Interference(pairs.Table());
    policy::Options policy;
    policy.max_slowdown = options.max_slowdown;
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

  // Null: there is none of that name.
  core::Result<const ProfileRecord*> FindProfile(const std::string& name) {
    const auto time = SteadyClock::now();
    if (const auto it = read.find(name); it != read.end() && time - it->second.at < kProfileKept) {
      return &it->second.record;
    }
    const auto found =
        profiles.Profiles({.id = {}, .name = name, .workload = {}, .gpu = {}, .source = {}});
    RETURN_IF_ERROR(found);
    const ProfileRecord* best = BestProfile(*found, cluster, catalogue);
    if (best == nullptr) {
      read.erase(name);
      return nullptr;
    }
    if (read.size() >= kMostNamesRead) read.clear();
    return &(read[name] = {time, *best}).record;
  }

  core::Result<void> CheckProfile(const std::string& name) {
    const auto found = FindProfile(name);
    if (!found)
      return tl::unexpected(core::Error(found.error()).Within("profile " + core::Quoted(name)));
    if (*found != nullptr) return {};
    // Read once in a while: whoever errs often must not keep the store busy.
    const auto time = SteadyClock::now();
    if (time - names_at > kProfileKept) {
      names.clear();
      if (const auto all = profiles.Profiles({})) {
        for (const ProfileRecord& record : *all) names.push_back(record.name);
      }
      names_at = time;
    }
    return core::UsageError(
        "there is no profile {} in the server's store; `sharewell profiles` lists "
        "them{}",
        core::Quoted(name), core::DidYouMean(name, names));
  }

  std::optional<Needs> Brought(const Submission& submission) {
    if (submission.needs) {
      Needs needs = estimate::AsBrought(*submission.needs);
      // What has learnt from runs here is not corrected by them once more.
      const bool unknown = needs.sources.busy == core::Source::kAssumed;
      if (!unknown && !needs.retrained) runs.Correct(needs);
      if (needs.from.empty()) needs.from = "the submission";
      return needs;
    }
    if (submission.profile.empty()) return std::nullopt;
    const auto found = FindProfile(submission.profile);
    if (!found || *found == nullptr) return std::nullopt;
    Needs needs;
    needs.sources = core::Sources::All(core::Source::kObserved);
    needs.from = "profile " + submission.profile;
    needs.profile = (*found)->profile;
    return needs;
  }

  void Keep(const KeyDigest& key, const core::JobRecord& record);
  // One that a job left is in the store now; the oldest go, a few at a time.
  void CountKept(std::int64_t id, core::UnixMillis created);
  // Those that jobs left, the oldest first.
  core::Result<std::vector<ProfileRecord>> ReadKept();
};

core::Result<std::vector<ProfileRecord>> ServerAdvisor::Impl::ReadKept() {
  auto kept = profiles.Profiles({.id = {}, .name = {}, .workload = {}, .gpu = {}, .source = "job"});
  RETURN_IF_ERROR(kept);
  std::sort(kept->begin(), kept->end(), [](const ProfileRecord& a, const ProfileRecord& b) {
    return std::tie(a.created, a.id) < std::tie(b.created, b.id);
  });
  if (kept->size() <= options.most_profiles_kept) return kept;
  const auto stay = kept->end() - static_cast<std::ptrdiff_t>(options.most_profiles_kept);
  std::vector<std::int64_t> old;
  for (auto it = kept->begin(); it != stay; ++it) old.push_back(it->id);
  if (const auto removed = profiles.RemoveProfiles(old); !removed) {
    Say("old profiles of jobs were not removed: " + removed.error().message);
  }
  kept->erase(kept->begin(), stay);
  return kept;
}

void ServerAdvisor::Impl::Keep(const KeyDigest& key, const core::JobRecord& record) {
  auto profile = runs.RecordOf(key);
  if (!profile) return;
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
    runs.Kept(key, *id);
    read.erase(profile->name);
    CountKept(*id, profile->created);
  } else {
    Say("the profile of job " + std::to_string(record.number) +
        " was not stored: " + id.error().message);
  }
}

void ServerAdvisor::Impl::CountKept(std::int64_t id, core::UnixMillis created) {
  const auto [since, fresh] = kept_since.try_emplace(id, created);
  if (!fresh) kept_by_age.erase({std::exchange(since->second, created), id});
  kept_by_age.emplace(created, id);
  if (kept_by_age.size() < options.most_profiles_kept + kRemovedAtOnce) return;
  std::vector<std::int64_t> old;
  while (kept_by_age.size() > options.most_profiles_kept) {
    old.push_back(kept_by_age.begin()->second);
    kept_since.erase(old.back());
    kept_by_age.erase(kept_by_age.begin());
  }
  if (const auto removed = profiles.RemoveProfiles(old); !removed) {
    Say("old profiles of jobs were not removed: " + removed.error().message);
  }
}

core::Result<std::unique_ptr<ServerAdvisor>> ServerAdvisor::New(
    const core::Cluster& cluster, const catalogue::GpuCatalogue& catalogue,
    store::ProfileStore& profiles, store::JobStore& jobs, const AdvisorOptions& options) {
  auto inside = std::make_unique<Impl>(cluster, catalogue, profiles, options);
  const auto shared = jobs.SharedRuns();
  RETURN_IF_ERROR(shared);
  for (const core::SharedRun& run : *shared) inside->pairs.Add(run);
  const auto kept = inside->ReadKept();
  RETURN_IF_ERROR(kept);
  std::map<std::string, const ProfileRecord*> by_key;  // the newest of each
  std::vector<std::string> keys;                       // the oldest first
  for (const ProfileRecord& record : *kept) {
    inside->CountKept(record.id, record.created);
    for (const auto& [fact, value] : record.environment) {
      if (fact != kKeyFact) continue;
      by_key[value] = &record;
      keys.push_back(value);
    }
  }
  store::JobFilter finished;
  finished.phases = {core::Phase::kFinished};
  finished.most = options.most_runs_read;
  const auto records = jobs.Jobs(finished);
  RETURN_IF_ERROR(records);
  // How long each took is in its record, what it needed in its key's profile.
  std::map<std::string, const core::JobRecord*> predicted;          // by key
  for (auto it = records->rbegin(); it != records->rend(); ++it) {  // the oldest first
    const KeyDigest key = DigestOf(core::WorkloadKey(it->asked));
    core::Profile nothing;
    nothing.workload = it->believed.profile.workload;
    inside->runs.Add(key, it->number, nothing, it->alone_time);
    const auto& needs = it->asked.needs;
    if (needs && needs->sources.busy == core::Source::kPredicted && !needs->retrained) {
      predicted[TextOf(key)] = &*it;
    }
  }
  for (const std::string& text : keys) {
    const auto key = DigestFrom(text);
    if (!key) continue;
    const ProfileRecord* record = by_key[text];
    inside->runs.Restore(*key, *record);
    if (const auto it = predicted.find(text); it != predicted.end()) {
      inside->runs.Compare(*key, estimate::AsBrought(*it->second->asked.needs).profile,
                           record->profile);
    }
  }
  auto built = inside->Build();
  RETURN_IF_ERROR(built);
  return std::unique_ptr<ServerAdvisor>(new ServerAdvisor(std::move(inside)));
}

ServerAdvisor::ServerAdvisor(std::unique_ptr<Impl> inside) : impl_(std::move(inside)) {}
ServerAdvisor::~ServerAdvisor() = default;

core::Result<void> ServerAdvisor::Check(const Submission& submission) {
  if (!submission.profile.empty()) {
    if (auto ok = impl_->CheckProfile(submission.profile); !ok) return ok;
  }
  if (!submission.image.empty()) {
    if (auto ok = engine::CheckImage(submission.image); !ok) return ok;
  }
  return CheckFitsHere(submission, impl_->cluster);
}

Needs ServerAdvisor::NeedsOf(const Submission& submission) {
  auto brought = impl_->Brought(submission);
  const auto runs = impl_->runs.NeedsOf(DigestOf(core::WorkloadKey(submission)));
  // Measured here, on the job itself, stands before any prediction.
  const bool measured = runs && runs->sources.busy == core::Source::kObserved &&
                        (runs->profile.busy || submission.gpus == 0);
  if (measured && (!brought || brought->sources.busy != core::Source::kObserved)) {
    Needs needs = *runs;
    if (brought) estimate::FillFrom(needs, *brought);
    return needs;
  }
  if (brought) {
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

core::WorkloadId ServerAdvisor::WorkloadOf(const Submission& submission) {
  const KeyDigest key = DigestOf(core::WorkloadKey(submission));
  const core::WorkloadId id = impl_->pairs.IdOf(key);
  std::optional<Needs> needs = impl_->Brought(submission);
  if (!needs) needs = impl_->runs.NeedsOf(key);
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
  const KeyDigest key = DigestOf(core::WorkloadKey(record.asked));
  core::Profile profile = seen;
  profile.workload = record.believed.profile.workload;
  if (!record.gpus.empty()) profile.gpu = record.gpus.front().model;
  if (profile.cpu_cores) {
    profile.cpu_cores = estimate::CoresNeeded(*profile.cpu_cores, record.cores, record.asked.gpus);
  }
  const bool timed = record.alone_time.value > 0;
  impl_->runs.Add(key, record.number, profile,
                  timed ? std::optional(record.alone_time) : std::nullopt);
  const auto& asked = record.asked.needs;
  if (asked && asked->sources.busy == core::Source::kPredicted && !asked->retrained) {
    impl_->runs.Compare(key, estimate::AsBrought(*asked).profile, seen);
  }
  impl_->Keep(key, record);
  if (!impl_->options.learn) return;
  if (auto run = RunToKeep(record, seen)) impl_->options.learn(*std::move(run));
}

}  // namespace sharewell::server
