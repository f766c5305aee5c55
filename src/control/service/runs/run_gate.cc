#include "control/service/runs/run_gate.h"

#include <algorithm>
#include <iterator>

#include "core/text/words.h"

namespace sharewell::control {

bool RunGate::ArrayHasRoom(const std::string& user, const std::string& array,
                           std::int64_t first) const {
  const LiveJob* job = live_.Find(first);
  if (array.empty() || job == nullptr || !job->record.asked.array_at_once) return true;
  return live_.QueuedOf(user, array) < static_cast<std::size_t>(*job->record.asked.array_at_once);
}

bool RunGate::HasNoHours(const std::string& user, const core::Limits& limits) const {
  if (!hours_ || core::IsNoLimit(limits.gpu_hours_a_week)) return false;
  return hours_(user) >= limits.gpu_hours_a_week;
}

std::string RunGate::WaitsForGpus(const core::JobRecord& record, const core::Limits& limits,
                                  const Turn& at) const {
  const std::string& user = record.user.name;
  if (record.asked.gpus == 0) return {};
  if (HasNoHours(user, limits)) {
    return fmt::format(
        "jobs of {} used {:.1f} GPU hours in the last seven days, of {:g} "
        "(limits.gpu_hours_a_week): it waits until some of them are a week ago; {}",
        user, hours_(user), limits.gpu_hours_a_week, core::WhoRaises("gpu_hours_a_week"));
  }
  const std::int64_t given = live_.ShareOf(user).gpus;
  const auto before = for_gpus_.find(user);
  const bool fits = given + record.asked.gpus <= limits.gpus;
  const bool first = before == for_gpus_.end() || at < *before->second.begin();
  if (fits && first) return {};
  const auto count = [](std::int64_t gpus) {
    return core::Count(static_cast<std::uint64_t>(gpus), "GPU");
  };
  const std::string why =
      fits ? fmt::format("job {} of {} waits for them", before->second.begin()->second, user)
           : fmt::format("its jobs that run or are next have {}", given);
  return fmt::format("{} may have {} at once (limits.gpus), and {}; {}", user, count(limits.gpus),
                     why, core::WhoRaises("gpus"));
}

std::string RunGate::Ask(const core::JobRecord& record) {
  const core::Limits limits = of_(record.user);
  const std::string& user = record.user.name;
  const std::string array = core::LimitedArrayOf(record.asked);
  const Turn at(-std::int64_t{record.asked.priority}, record.number);
  std::string why;
  if (static_cast<std::int64_t>(live_.ShareOf(user).queued) >= limits.running_jobs) {
    why = fmt::format(
        "{} may run {} at once (limits.running_jobs), and that many run or are next; {}", user,
        core::Count(static_cast<std::uint64_t>(limits.running_jobs), "job"),
        core::WhoRaises("running_jobs"));
  } else if (!ArrayHasRoom(user, array, record.number)) {
    why = fmt::format("at most {} of its array may run at once, as was asked for (%{})",
                      core::Count(static_cast<std::uint64_t>(*record.asked.array_at_once), "job"),
                      *record.asked.array_at_once);
  } else if (why = WaitsForGpus(record, limits, at); !why.empty()) {
    for_gpus_[user].insert(at);
  } else {
    return {};
  }
  places_[record.number] = {user, array, at, record.asked.gpus};
  lines_[user][array].insert(at);
  return why;
}

void RunGate::Forget(std::int64_t number) {
  const auto place = places_.find(number);
  if (place == places_.end()) return;
  const auto lines = lines_.find(place->second.user);
  const auto line = lines->second.find(place->second.array);
  line->second.erase(place->second.at);
  if (line->second.empty()) lines->second.erase(line);
  if (lines->second.empty()) lines_.erase(lines);
  if (const auto gpus = for_gpus_.find(place->second.user); gpus != for_gpus_.end()) {
    gpus->second.erase(place->second.at);
    if (gpus->second.empty()) for_gpus_.erase(gpus);
  }
  places_.erase(place);
}

RunGate::Line RunGate::ReadyOf(const std::string& user, const Arrays& lines,
                               std::int64_t room) const {
  Line ready;
  for (const auto& [array, line] : lines) {
    std::int64_t most = room;
    const LiveJob* first = live_.Find(line.begin()->second);
    if (!array.empty() && first != nullptr && first->record.asked.array_at_once) {
      most =
          std::min<std::int64_t>(most, *first->record.asked.array_at_once -
                                           static_cast<std::int64_t>(live_.QueuedOf(user, array)));
    }
    for (auto job = line.begin(); job != line.end() && most > 0; ++job, --most) {
      ready.insert(*job);
      if (static_cast<std::int64_t>(ready.size()) > room) ready.erase(std::prev(ready.end()));
    }
  }
  return ready;
}

std::vector<std::int64_t> RunGate::TakeNext() {
  std::vector<std::int64_t> next;
  for (const auto& [user, lines] : lines_) {
    const LiveJob* any = live_.Find(lines.begin()->second.begin()->second);
    if (any == nullptr) continue;
    const core::Limits limits = of_(any->record.user);
    const LiveJobs::Share given = live_.ShareOf(user);
    const std::int64_t room = limits.running_jobs - static_cast<std::int64_t>(given.queued);
    if (room <= 0) continue;
    std::int64_t gpus = HasNoHours(user, limits) ? 0 : limits.gpus - given.gpus;
    for (const auto& [priority, number] : ReadyOf(user, lines, room)) {
      const int wanted = places_.at(number).gpus;
      if (wanted > gpus) gpus = 0;  // the next ones do not overtake it
      if (wanted > gpus) continue;
      gpus -= wanted;
      next.push_back(number);
    }
  }
  for (const std::int64_t number : next) Forget(number);
  return next;
}

}  // namespace sharewell::control
