#include "collect/host/perf/perf_set.h"

#include <algorithm>

namespace sharewell::collect {
namespace {

// Which events are counted together: those that are divided by each other.
constexpr PerfEvent kTogether[2][4] = {
    {kEventInstructions, kEventCycles, kEventDramLocal, kEventDramRemote},
    {kEventLlcReferences, kEventLlcMisses, kPerfEvents, kPerfEvents}};

// The codes of one of the two groups that the table has, and which events they are.
struct GroupCodes {
  std::vector<PerfCode> codes = {};
  std::vector<PerfEvent> events = {};
};

GroupCodes CodesOf(const PerfTable& table, std::size_t group) {
  GroupCodes found;
  for (const PerfEvent event : kTogether[group]) {
    if (event == kPerfEvents || !table.codes[event]) continue;
    found.codes.push_back(*table.codes[event]);
    found.events.push_back(event);
  }
  return found;
}

}  // namespace

PerfSet::~PerfSet() {
  for (const Target& target : targets_) {
    for (const PerfOpened& group : target.groups) {
      if (group.id >= 0) counters_.Close(group.id);
    }
  }
}

bool PerfSet::Add(const PerfTarget& target) {
  Target added;
  added.cpu = target.cpu;
  bool any = false;
  for (std::size_t i = 0; i < added.groups.size(); ++i) {
    const GroupCodes wanted = CodesOf(table_, i);
    if (wanted.codes.empty()) continue;
    PerfOpened& group = added.groups[i];
    group = counters_.Open(wanted.codes, target);
    if (group.error != 0) error_ = group.error;
    user_only_ = user_only_ || group.user_only;
    if (group.id < 0) continue;
    any = true;
    for (std::size_t e = 0; e < wanted.events.size(); ++e) {
      if (group.events[e]) counted_[wanted.events[e]] = true;
    }
  }
  if (!any) return false;
  targets_.push_back(std::move(added));
  if (target.cpu >= 0) cpus_.insert(target.cpu);
  return true;
}

bool PerfSet::ReadTarget(Target& target) {
  for (std::size_t i = 0; i < target.groups.size(); ++i) {
    const PerfOpened& group = target.groups[i];
    if (group.id < 0) continue;
    std::array<PerfCount, kPerfEvents> counts{};
    if (!counters_.Read(group.id, counts)) return false;
    std::size_t index = 0;
    for (const PerfEvent event : kTogether[i]) {
      if (event == kPerfEvents || !table_.codes[event]) continue;
      const std::size_t code = index++;
      if (!group.events[code]) continue;
      const PerfCount& now = counts[code];
      PerfCount& last = target.last[event];
      const bool again = now.enabled < last.enabled || now.running < last.running ||
                         now.value < last.value;  // it was started anew
      if (again) last = {};
      const auto enabled = static_cast<double>(now.enabled - last.enabled);
      const auto running = static_cast<double>(now.running - last.running);
      enabled_[event] += enabled;
      running_[event] += running;
      if (running > 0) {
        added_[event] +=
            static_cast<double>(now.value - last.value) * std::max(1.0, enabled / running);
      }
      last = now;
    }
  }
  return true;
}

void PerfSet::Read() {
  added_.fill(0);
  enabled_.fill(0);
  running_.fill(0);
  std::erase_if(targets_, [this](Target& target) {
    if (ReadTarget(target)) return false;
    for (const PerfOpened& group : target.groups) {
      if (group.id >= 0) counters_.Close(group.id);
    }
    cpus_.erase(target.cpu);
    return true;
  });
  for (std::size_t event = 0; event < kPerfEvents; ++event) total_[event] += added_[event];
  ++readings_;
}

std::optional<double> PerfSet::Total(PerfEvent event) const {
  // Opened and never once given a counter: what it would have counted is not known.
  if (!counted_[event] || readings_ == 0) return std::nullopt;
  if (total_[event] == 0 && enabled_[event] > 0 && running_[event] == 0) return std::nullopt;
  return total_[event];
}

std::optional<double> PerfSet::Added(PerfEvent event) const {
  if (!counted_[event] || readings_ < 2 || running_[event] <= 0) return std::nullopt;
  return added_[event];
}

std::optional<double> PerfSet::RunningRatio() const {
  std::optional<double> least;
  for (std::size_t event = 0; event < kPerfEvents; ++event) {
    if (!counted_[event] || enabled_[event] <= 0) continue;
    const double ratio = std::min(1.0, running_[event] / enabled_[event]);
    least = std::min(least.value_or(ratio), ratio);
  }
  return least;
}

}  // namespace sharewell::collect
