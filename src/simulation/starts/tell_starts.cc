#include "simulation/starts/tell_starts.h"

#include <algorithm>

namespace sharewell::simulation {
namespace {

// The wait if jobs keep coming, over the wait if nobody comes. On Philly with known durations 2
// tells 77 % with a median error of 37 %, 3 tells 87 % with 38 %.
constexpr core::Ratio kFarApart = 3;
constexpr core::Seconds kClose{30};  // so much is nothing

// The longest wait, if jobs keep coming, that may be told of one that waits so long if nobody
// comes.
core::Seconds MostToTell(core::Seconds alone) { return alone * kFarApart + kClose; }

bool MayBeTold(const Played& alone, const Played& beside, core::Seconds now) {
  return alone.start && beside.start && *beside.start - now <= MostToTell(*alone.start - now);
}

}  // namespace

core::Result<std::vector<Played>> TellStarts(const core::Snapshot& from,
                                             const policy::Policy& policy,
                                             const interference::Interference& interference,
                                             Rests rests, PlayOnOptions options) {
  options.more_come = false;
  const auto alone = PlayOn(from, policy, interference, rests, options);
  RETURN_IF_ERROR(alone);
  core::Seconds longest;
  for (const core::JobId id : from.waiting()) {
    if (options.until.valid() && id != options.until) continue;
    const auto& start = (*alone)[id.index()].start;
    if (start) longest = std::max(longest, *start - from.now());
  }
  options.more_come = true;
  options.horizon = MostToTell(longest);
  auto told = PlayOn(from, policy, interference, rests, options);
  RETURN_IF_ERROR(told);
  for (std::size_t i = 0; i < told->size(); ++i) {
    const bool waits = from.job(core::JobId(i)).state == core::JobState::kWaiting;
    if (waits && !MayBeTold((*alone)[i], (*told)[i], from.now())) (*told)[i].start.reset();
  }
  return told;
}

}  // namespace sharewell::simulation
