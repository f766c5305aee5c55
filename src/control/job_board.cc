#include "control/job_board.h"

#include <utility>

namespace sharewell::control {

JobBoard::JobBoard(std::size_t most_over) : most_over_(most_over) {}

void JobBoard::Put(core::JobRecord record) {
  const std::int64_t number = record.number;
  const bool over = core::IsOver(record.phase);
  auto job = std::make_shared<const core::JobRecord>(std::move(record));
  const std::lock_guard lock(mutex_);
  if (!over) {
    live_[number] = std::move(job);
    return;
  }
  live_.erase(number);
  over_[number] = std::move(job);
  if (over_.size() <= most_over_) return;
  auto oldest = over_.begin();
  if (oldest->first == number) ++oldest;  // whoever put it up asks for it next
  over_.erase(oldest);
}

JobPtr JobBoard::Find(std::int64_t number) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = live_.find(number); found != live_.end()) return found->second;
  const auto found = over_.find(number);
  return found == over_.end() ? nullptr : found->second;
}

std::vector<JobPtr> JobBoard::Live() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobPtr> jobs;
  jobs.reserve(live_.size());
  for (const auto& [number, job] : live_) jobs.push_back(job);
  return jobs;
}

std::vector<JobPtr> JobBoard::Over() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobPtr> jobs;
  jobs.reserve(over_.size());
  for (const auto& [number, job] : over_) jobs.push_back(job);
  return jobs;
}

std::map<core::Phase, std::size_t> JobBoard::Counts() const {
  const std::lock_guard lock(mutex_);
  std::map<core::Phase, std::size_t> counts;
  for (const auto& [number, job] : live_) ++counts[job->phase];
  return counts;
}

}  // namespace sharewell::control
