#include "control/service/parts/run_gate.h"

#include "core/text/words.h"

namespace sharewell::control {

bool RunGate::ArrayHasRoom(const std::string& user, const std::string& array,
                           std::int64_t first) const {
  const LiveJob* job = live_.Find(first);
  if (array.empty() || job == nullptr || !job->record.asked.array_at_once) return true;
  return live_.QueuedOf(user, array) < static_cast<std::size_t>(*job->record.asked.array_at_once);
}

std::string RunGate::Ask(const core::JobRecord& record) {
  const core::Limits limits = of_(record.user);
  const std::string& user = record.user.name;
  const std::string array = core::LimitedArrayOf(record.asked);
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
  } else {
    return {};
  }
  const std::pair at(-std::int64_t{record.asked.priority}, record.number);
  places_[record.number] = {user, array, at};
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
  places_.erase(place);
}

std::vector<std::int64_t> RunGate::TakeNext() {
  std::vector<std::int64_t> next;
  for (const auto& [user, lines] : lines_) {
    const LiveJob* any = live_.Find(lines.begin()->second.begin()->second);
    if (any == nullptr) continue;
    const std::int64_t room =
        of_(any->record.user).running_jobs - static_cast<std::int64_t>(live_.ShareOf(user).queued);
    if (room <= 0) continue;
    Line ready;  // of each array as many as it has room for, of all of them the first
    for (const auto& [array, line] : lines) {
      std::int64_t most = room;
      const LiveJob* first = live_.Find(line.begin()->second);
      if (!array.empty() && first != nullptr && first->record.asked.array_at_once) {
        most = std::min<std::int64_t>(most,
                                      *first->record.asked.array_at_once -
                                          static_cast<std::int64_t>(live_.QueuedOf(user, array)));
      }
      for (auto job = line.begin(); job != line.end() && most > 0; ++job, --most) {
        ready.insert(*job);
        if (static_cast<std::int64_t>(ready.size()) > room) ready.erase(std::prev(ready.end()));
      }
    }
    for (const auto& [priority, number] : ready) next.push_back(number);
  }
  for (const std::int64_t number : next) Forget(number);
  return next;
}

}  // namespace sharewell::control
