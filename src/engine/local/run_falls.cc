#include "engine/local/run_falls.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "engine/local/fell_together.h"
#include "engine/local/gpu_faults.h"

namespace sharewell::engine {

using core::Seconds;

namespace {

constexpr Seconds kBlameSince{60};  // a fault long before an end was not its reason

// A guest that has run for longer has shown that it can: its neighbours have lived with it.
constexpr Seconds kStrangerFor{120};

bool IsStranger(const LocalRun& run) {
  return run.request.guest_memory && run.unjudged->ran.value_or(Seconds(0)) < kStrangerFor;
}

// The clock of the kernel's log.
Seconds MonotonicNow() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Seconds(static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
}

}  // namespace

void RunFalls::Handle(LocalRun& run, RunEnd end) {
  if (run.forgotten || run.pipes.empty() || !MayBeAFall(end)) {
    return book_.EmitEnd(run, std::move(end));
  }
  run.unjudged = std::move(end);
  run.judged_by = book_.Now() + book_.options.fall_patience;
  any_ = true;
}

void RunFalls::Judge() {
  if (!std::exchange(any_, false)) return;
  std::map<std::string, std::vector<LocalRun*>> by_daemon;
  for (auto& [id, run] : book_.runs) {
    if (run.unjudged) by_daemon[run.pipes].push_back(&run);
  }
  for (const auto& [daemon, fallen] : by_daemon) {
    if (Wait(daemon, fallen)) {
      any_ = true;
    } else {
      Judge(daemon, fallen);
    }
  }
}

bool RunFalls::Wait(const std::string& daemon, const std::vector<LocalRun*>& fallen) const {
  const bool neighbours = std::any_of(book_.runs.begin(), book_.runs.end(), [&](const auto& one) {
    return !one.second.ended && one.second.pipes == daemon;
  });
  const bool late = std::any_of(fallen.begin(), fallen.end(),
                                [&](const LocalRun* run) { return book_.Now() >= run->judged_by; });
  return neighbours && !late;
}

void RunFalls::Judge(const std::string& daemon, const std::vector<LocalRun*>& fallen) {
  std::vector<MpsEnd> ends;
  std::set<int> blamed;
  if (fallen.size() > 1) {
    blamed = BlamedProcesses(book_.options.kernel_log, MonotonicNow() - kBlameSince);
  }
  for (const LocalRun* run : fallen) {
    ends.push_back({run->request.id, daemon, run->ended_at,
                    run->command && blamed.contains(*run->command), IsStranger(*run)});
  }
  const auto falls = FellTogether(ends);
  for (std::size_t i = 0; i < fallen.size(); ++i) {
    RunEnd end = std::move(*fallen[i]->unjudged);
    fallen[i]->unjudged.reset();
    end.fall = falls[i];
    book_.EmitEnd(*fallen[i], std::move(end));
  }
}

}  // namespace sharewell::engine
