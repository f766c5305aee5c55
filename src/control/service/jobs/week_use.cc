#include "control/service/jobs/week_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace sharewell::control {
namespace {

constexpr core::UnixMillis kQuarter = 6 * 3600 * core::UnixMillis{1000};
constexpr std::size_t kMostQuarters = 32;  // of a text
constexpr std::int64_t kLastQuarter = std::int64_t{1} << 40;

// The first that is in the week.
std::int64_t FirstQuarter(core::UnixMillis now) { return (now - kWeek) / kQuarter; }

// "78703:3600", and what follows it.
std::optional<std::pair<std::int64_t, double>> TakeQuarter(std::string_view& text) {
  std::pair<std::int64_t, double> quarter;
  const char* end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, quarter.first);
  const bool good = number.ec == std::errc() && number.ptr != end && *number.ptr == ':' &&
                    quarter.first >= 0 && quarter.first <= kLastQuarter;
  if (!good) return std::nullopt;
  const auto seconds = std::from_chars(number.ptr + 1, end, quarter.second);
  if (seconds.ec != std::errc() || !std::isfinite(quarter.second) || quarter.second < 0) {
    return std::nullopt;
  }
  if (seconds.ptr != end && *seconds.ptr != ' ') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(seconds.ptr - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return quarter;
}

}  // namespace

void WeekUse::Add(const std::string& user, core::UnixMillis from, core::UnixMillis to, int gpus) {
  from = std::max(from, to - kWeek);
  const platform::MutexLock lock(mutex_);
  Quarters& quarters = users_[user];
  while (from < to) {
    const std::int64_t quarter = from / kQuarter;
    const core::UnixMillis end = std::min(to, (quarter + 1) * kQuarter);
    quarters[quarter] += static_cast<double>(end - from) / 1e3 * gpus;
    from = end;
  }
  quarters.erase(quarters.begin(), quarters.lower_bound(FirstQuarter(to)));
  if (quarters.empty()) users_.erase(user);
}

double WeekUse::GpuHours(const std::string& user, core::UnixMillis now) const {
  const platform::MutexLock lock(mutex_);
  const auto found = users_.find(user);
  if (found == users_.end()) return 0;
  double seconds = 0;
  const Quarters& quarters = found->second;
  for (auto q = quarters.lower_bound(FirstQuarter(now)); q != quarters.end(); ++q) {
    seconds += q->second;
  }
  return seconds / 3600;
}

std::string WeekUse::TextOf(const std::string& user) const {
  const platform::MutexLock lock(mutex_);
  std::string text;
  const auto found = users_.find(user);
  if (found == users_.end()) return text;
  for (const auto& [quarter, seconds] : found->second) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", quarter, seconds);
  }
  return text;
}

double GpuHoursOfWeek(const WeekUse& week, const JobBoard& board, const std::string& user,
                      core::UnixMillis now) {
  double hours = week.GpuHours(user, now);
  for (const JobPtr& job : board.Live()) {
    const bool runs = job->phase == core::Phase::kRunning || job->phase == core::Phase::kStopping;
    if (!runs || !job->resumed || job->user.name != user) continue;
    const core::UnixMillis took = std::clamp<core::UnixMillis>(now - *job->resumed, 0, kWeek);
    hours += static_cast<double>(took) / 3.6e6 * job->asked.gpus;
  }
  return hours;
}

bool WeekUse::Restore(const std::string& user, std::string_view text) {
  Quarters quarters;
  while (!text.empty()) {
    const auto quarter = TakeQuarter(text);
    if (!quarter || quarters.size() >= kMostQuarters) return false;
    quarters[quarter->first] += quarter->second;
  }
  const platform::MutexLock lock(mutex_);
  if (!quarters.empty()) users_[user] = std::move(quarters);
  return true;
}

}  // namespace sharewell::control
