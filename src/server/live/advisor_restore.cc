// What a ServerAdvisor takes up from the stores when it is made.
#include <set>

#include "server/live/advisor_impl.h"

namespace sharewell::server {

using core::ProfileRecord;

namespace {

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
  std::vector<const core::JobRecord*> told_of_each;  // the newest of each command, oldest first
  std::set<OwnedText> met;
  for (const core::JobRecord& record : *records) {  // the newest first
    const KeyDigest key = DigestOf(core::WorkloadKey(record.asked));
    if (record.told && met.insert({record.user.name, TextOf(key)}).second) {
      told_of_each.push_back(&record);
    }
  }
  std::reverse(told_of_each.begin(), told_of_each.end());
  for (auto it = records->rbegin(); it != records->rend(); ++it) {  // the oldest first
    const KeyDigest key = DigestOf(core::WorkloadKey(it->asked));
    core::Profile nothing;
    nothing.workload = it->believed.profile.workload;
    inside->runs.Add(it->user.name, key, it->number, nothing, {core::TimeTaken(*it), {}});
    inside->LearnDuration(*it);
    if (it->told) inside->steps.Meet(it->user.name, LabelsOf(it->asked), *it->told);
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
  // Each command's profile is what its runs taught about its step.
  for (const core::JobRecord* record : told_of_each) {
    const std::string key = TextOf(DigestOf(core::WorkloadKey(record->asked)));
    const auto profile = by_key.find({record->user.name, key});
    if (profile == by_key.end()) continue;
    core::Profile seen = profile->second->profile;
    if (!RateWasSeen(*profile->second)) seen.steps_per_second.reset();
    inside->steps.Learn(record->user.name, *record->told, record->number, seen,
                        {core::TimeTaken(*record), profile->second->window});
  }
  for (const std::string& user : inside->runs.Users()) inside->Publish(user);
  auto built = inside->Build();
  RETURN_IF_ERROR(built);
  return std::unique_ptr<ServerAdvisor>(new ServerAdvisor(std::move(inside)));
}

}  // namespace sharewell::server
