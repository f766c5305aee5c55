#include "server/learn/told_durations.h"

#include <algorithm>

#include "core/numbers/statistics.h"

namespace sharewell::server {
namespace {

constexpr double kMostLonger = 1e9;

}  // namespace

void ToldDurations::Add(const std::string& user, core::Seconds told, core::Seconds took) {
  if (!(told.value > 0) || !(took.value > 0)) return;
  if (by_user_.size() >= kMostUsers && !by_user_.contains(user)) return;
  std::vector<double>& jobs = by_user_[user];
  if (jobs.size() >= kJobs) jobs.erase(jobs.begin());
  jobs.push_back(std::min(took / told, kMostLonger));
}

core::Seconds ToldDurations::Believed(const std::string& user, core::Seconds told) const {
  const auto known = by_user_.find(user);
  if (known == by_user_.end()) return told;
  return told * std::max(core::Quantile(known->second, 0.5).value_or(1), 1.0);
}

}  // namespace sharewell::server
