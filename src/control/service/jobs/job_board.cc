#include "control/service/jobs/job_board.h"

#include <iterator>
#include <utility>

namespace sharewell::control {
namespace {

constexpr std::size_t kMostLookedUp = 100'000;
constexpr std::size_t kAfterBytes = 64;  // a number, and its place among those that wait for it

}  // namespace

std::size_t BytesOf(const core::Submission& job) {
  std::size_t bytes = sizeof(core::JobRecord) + job.folder.size() + job.image.size() +
                      job.after.size() * kAfterBytes;
  if (job.needs) bytes += job.needs->profile.cpu_curve.size() * sizeof(double) * 2;
  for (const std::string& model : job.gpu_models) bytes += model.size();
  for (const std::string& word : job.command) bytes += word.size();
  for (const auto& [name, value] : job.environment) bytes += name.size() + value.size();
  return bytes;
}

JobBoard::JobBoard(std::size_t most_over, std::size_t most_over_bytes)
    : most_over_(most_over), most_over_bytes_(most_over_bytes) {}

void JobBoard::Put(core::JobRecord record) {
  if (hears_) hears_(record);
  const std::int64_t number = record.number;
  const bool over = core::IsOver(record.phase);
  auto job = std::make_shared<const core::JobRecord>(std::move(record));
  const platform::MutexLock lock(mutex_);
  if (const auto before = live_.find(number); before != live_.end()) {
    const auto count = counts_.find(before->second->phase);
    if (--count->second == 0) counts_.erase(count);
    if (over) live_.erase(before);
  }
  const auto take = [&](std::map<std::int64_t, JobPtr>::iterator place) SHAREWELL_REQUIRES(mutex_) {
    over_bytes_ -= BytesOf(place->second->asked);
    over_.erase(place);
  };
  // A number that was over may come again: a manager's ids begin anew, or a job is put back there.
  if (const auto before = over_.find(number); before != over_.end()) take(before);
  if (!over) {
    looked_up_.erase(number);
    ++counts_[job->phase];
    live_[number] = std::move(job);
    return;
  }
  over_bytes_ += BytesOf(job->asked);
  over_[number] = std::move(job);
  while (over_.size() > 1 && (over_.size() > most_over_ || over_bytes_ > most_over_bytes_)) {
    const auto oldest = over_.begin();
    take(oldest->first == number ? std::next(oldest) : oldest);  // who put it up asks for it next
  }
}

JobPtr JobBoard::Find(std::int64_t number) const {
  const platform::MutexLock lock(mutex_);
  if (const auto found = live_.find(number); found != live_.end()) return found->second;
  const auto found = over_.find(number);
  return found == over_.end() ? nullptr : found->second;
}

std::optional<core::Phase> JobBoard::PhaseOf(std::int64_t number) const {
  const platform::MutexLock lock(mutex_);
  for (const auto* jobs : {&live_, &over_}) {
    if (const auto found = jobs->find(number); found != jobs->end()) return found->second->phase;
  }
  const auto found = looked_up_.find(number);
  return found == looked_up_.end() ? std::nullopt : std::optional(found->second);
}

void JobBoard::Remember(std::int64_t number, core::Phase ended) const {
  const platform::MutexLock lock(mutex_);
  if (looked_up_.size() >= kMostLookedUp) looked_up_.clear();
  looked_up_[number] = ended;
}

std::vector<JobPtr> JobBoard::Live() const {
  const platform::MutexLock lock(mutex_);
  std::vector<JobPtr> jobs;
  jobs.reserve(live_.size());
  for (const auto& [number, job] : live_) jobs.push_back(job);
  return jobs;
}

std::vector<JobPtr> JobBoard::NewestLive(
    std::size_t most, std::optional<std::int64_t> below,
    const std::function<bool(const core::JobRecord&)>& takes) const {
  const platform::MutexLock lock(mutex_);
  std::vector<JobPtr> jobs;
  for (auto job = below ? live_.lower_bound(*below) : live_.end();
       job != live_.begin() && jobs.size() < most;) {
    --job;
    if (takes(*job->second)) jobs.push_back(job->second);
  }
  return jobs;
}

std::vector<JobPtr> JobBoard::Over() const {
  const platform::MutexLock lock(mutex_);
  std::vector<JobPtr> jobs;
  jobs.reserve(over_.size());
  for (const auto& [number, job] : over_) jobs.push_back(job);
  return jobs;
}

std::map<core::Phase, std::size_t> JobBoard::Counts() const {
  const platform::MutexLock lock(mutex_);
  return counts_;
}

}  // namespace sharewell::control
