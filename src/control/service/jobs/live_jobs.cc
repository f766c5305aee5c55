#include "control/service/jobs/live_jobs.h"

#include <utility>

#include "control/service/jobs/job_board.h"
#include "core/result.h"

namespace sharewell::control {

LiveJob& LiveJobs::Add(core::JobRecord record) {
  Share& share = shares_[record.user.name];
  ++share.jobs;
  share.bytes += BytesOf(record.asked);
  const auto [place, fresh] = jobs_.try_emplace(record.number);
  SHAREWELL_CHECK(fresh);
  // Of one that an earlier server started nobody knows whom it was beside.
  place->second.always_alone = record.attempt == 0;
  if (record.alone) place->second.rate_stored = record.alone->over;
  place->second.record = std::move(record);
  return place->second;
}

void LiveJobs::Remove(std::int64_t number) {
  const auto found = jobs_.find(number);
  SHAREWELL_CHECK(found != jobs_.end());
  TakeId(found->second);
  const core::JobRecord& record = found->second.record;
  const auto share = shares_.find(record.user.name);
  share->second.bytes -= BytesOf(record.asked);
  if (--share->second.jobs == 0) shares_.erase(share);
  jobs_.erase(found);
}

const LiveJob* LiveJobs::Find(std::int64_t number) const {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : &found->second;
}

LiveJob* LiveJobs::Find(std::int64_t number) {
  const auto found = jobs_.find(number);
  return found == jobs_.end() ? nullptr : &found->second;
}

const LiveJob* LiveJobs::Find(core::JobId id) const {
  if (id.index() >= number_of_.size()) return nullptr;
  const LiveJob* job = Find(number_of_[id.index()]);
  return job != nullptr && job->id == id ? job : nullptr;
}

LiveJob* LiveJobs::FindRun(engine::RunId id) {
  LiveJob* job = Find(id.job);
  return job != nullptr && job->record.attempt == id.attempt ? job : nullptr;
}

LiveJob* LiveJobs::Find(core::JobId id) {
  if (id.index() >= number_of_.size()) return nullptr;
  LiveJob* job = Find(number_of_[id.index()]);
  return job != nullptr && job->id == id ? job : nullptr;
}

LiveJobs::Share LiveJobs::ShareOf(const std::string& user) const {
  const auto found = shares_.find(user);
  return found == shares_.end() ? Share{} : found->second;
}

std::string LiveJobs::NameOf(core::JobId id) const {
  const LiveJob* job = Find(id);
  return job == nullptr ? std::string() : "job " + std::to_string(job->record.number);
}

std::size_t LiveJobs::QueuedOf(const std::string& user, const std::string& array) const {
  const auto found = arrays_.find({user, array});
  return found == arrays_.end() ? 0 : found->second;
}

void LiveJobs::Count(const core::JobRecord& record, bool queued) {
  Share& share = shares_[record.user.name];
  share.queued += queued ? 1 : -1;
  share.gpus += queued ? record.asked.gpus : -record.asked.gpus;
  const std::string array = core::LimitedArrayOf(record.asked);
  if (array.empty()) return;
  const auto place = arrays_.try_emplace({record.user.name, array}, 0).first;
  place->second += queued ? 1 : -1;
  if (place->second == 0) arrays_.erase(place);
}

core::JobId LiveJobs::TakeId(LiveJob& job) {
  if (job.id.valid()) Count(job.record, false);
  return std::exchange(job.id, {});
}

core::JobId LiveJobs::GiveId(LiveJob& job) {
  if (!job.id.valid()) Count(job.record, true);
  job.id = core::JobId(number_of_.size());
  number_of_.push_back(job.record.number);
  return job.id;
}

core::JobId LiveJobs::GiveIdToNobody() {
  number_of_.push_back(0);
  return core::JobId(number_of_.size() - 1);
}

void LiveJobs::MarkStaying(std::vector<bool>& stays) const {
  for (const auto& [number, job] : jobs_) {
    if (job.id.valid()) stays[job.id.index()] = true;
  }
}

void LiveJobs::Renumber(const core::Renumbering& ids) {
  SHAREWELL_CHECK(ids.before() == number_of_.size());
  for (auto& [number, job] : jobs_) {
    job.waits.reset();  // it may name another's id; the policy says it anew
    if (!job.id.valid()) continue;
    job.id = ids.Of(job.id);
    SHAREWELL_CHECK(job.id.valid());
  }
  ids.Apply(number_of_);
}

core::UserId LiveJobs::UserIdOf(const std::string& name) {
  const auto [user, fresh] = users_.try_emplace(name, core::UserId(users_.size()));
  if (fresh) user_names_.push_back(name);
  return user->second;
}

const std::string& LiveJobs::NameOfUser(core::UserId id) const {
  SHAREWELL_CHECK(id.index() < user_names_.size());
  return user_names_[id.index()];
}

}  // namespace sharewell::control
