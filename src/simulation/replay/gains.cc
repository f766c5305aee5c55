#include "simulation/replay/gains.h"

#include <algorithm>

#include "core/numbers/statistics.h"

namespace sharewell::simulation {
namespace {

// A change that nobody notices.
constexpr double kSameWithin = 0.05;
constexpr std::size_t kMostChanges = 10;

void KeepLargest(std::vector<JobChange>& changes) {
  std::stable_sort(changes.begin(), changes.end(), [](const JobChange& a, const JobChange& b) {
    const double mine = a.after - a.before, other = b.after - b.before;
    return (mine < 0 ? -mine : mine) > (other < 0 ? -other : other);
  });
  if (changes.size() > kMostChanges) changes.resize(kMostChanges);
}

}  // namespace

PolicyChange ChangeOf(const std::string& policy, const CompletionTimes& first,
                      const CompletionTimes& then) {
  PolicyChange change;
  change.policy = policy;
  double before = 0, after = 0;
  for (std::size_t j = 0; j < first.size(); ++j) {
    if (!first[j] || !then[j]) continue;
    before += *first[j];
    after += *then[j];
    const double ratio = *then[j] / std::max(*first[j], 1e-9);
    change.worst = std::max(change.worst.value_or(0), ratio);
    if (ratio < 1 - kSameWithin) {
      ++change.sooner;
      change.gains.push_back({j, *first[j], *then[j]});
    } else if (ratio > 1 + kSameWithin) {
      ++change.later;
      change.losses.push_back({j, *first[j], *then[j]});
    } else {
      ++change.same;
    }
  }
  if (before > 0) change.jct_mean = after / before - 1;
  KeepLargest(change.gains);
  KeepLargest(change.losses);
  return change;
}

std::vector<UserOutcome> UsersOf(const Scenario& scenario,
                                 const std::vector<CompletionTimes>& columns) {
  std::vector<UserOutcome> users(scenario.users.size());
  std::vector<std::vector<std::vector<double>>> times(
      users.size(), std::vector<std::vector<double>>(columns.size()));
  for (std::size_t j = 0; j < scenario.jobs.size(); ++j) {
    const std::size_t u = scenario.jobs[j].user.index();
    ++users[u].jobs;
    users[u].gpu_hours += scenario.truth[j].work.value * scenario.jobs[j].gpus / 3600;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c][j]) times[u][c].push_back(*columns[c][j]);
    }
  }
  for (std::size_t u = 0; u < users.size(); ++u) {
    users[u].user = scenario.users[u];
    for (const auto& column : times[u]) users[u].jct_mean.push_back(core::Mean(column));
  }
  std::erase_if(users, [](const UserOutcome& user) { return user.jobs == 0; });
  std::stable_sort(users.begin(), users.end(), [](const UserOutcome& a, const UserOutcome& b) {
    return a.gpu_hours > b.gpu_hours;
  });
  return users;
}

std::vector<double> CurveOf(std::vector<double> values, std::size_t most) {
  std::sort(values.begin(), values.end());
  const std::size_t points = std::min(values.size(), most);
  std::vector<double> curve;
  curve.reserve(points);
  for (std::size_t i = 1; i <= points; ++i) curve.push_back(values[values.size() * i / points - 1]);
  return curve;
}

}  // namespace sharewell::simulation
