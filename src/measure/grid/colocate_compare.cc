// From rates together and alone to speeds.
#include <algorithm>

#include "measure/grid/colocate_result.h"

namespace sharewell::measure {
namespace {

// What is summed: GPU busy, or, where nothing runs on a GPU, the share of the cores.
std::optional<double> UtilisationOf(const ColocateResult& result, const RunSummary& run) {
  if (!result.gpu.empty()) return run.profile.busy ? run.profile.busy : run.device_busy;
  if (!run.profile.cpu_cores || result.cores == 0) return std::nullopt;
  return *run.profile.cpu_cores / result.cores;
}

Packing PackingOf(const ColocatedSet& group) {
  if (!group.fits) return Packing::kDoesNotFit;
  if (group.state != CellState::kDone) return Packing::kUnknown;
  const double turns = 1.0 / static_cast<double>(group.members.size());
  bool all = true;
  for (const auto& speed : group.speeds) {
    if (!speed) return Packing::kUnknown;
    if (*speed < turns) return Packing::kConflicting;
    all = all && *speed >= kKeepsSpeed;
  }
  return all ? Packing::kComplementary : Packing::kSharing;
}

}  // namespace

std::optional<double> AloneRun::Rate() const {
  const auto& first = summary.profile.steps_per_second;
  if (!again || !again->profile.steps_per_second || !first) return first;
  return (*first + *again->profile.steps_per_second) / 2;
}

std::optional<core::Ratio> AloneRun::Drift() const {
  const auto& first = summary.profile.steps_per_second;
  if (!again || !again->profile.steps_per_second || !first || *first <= 0) return std::nullopt;
  return *again->profile.steps_per_second / *first - 1;
}

void CompareWithAlone(ColocateResult& result) {
  for (ColocatedSet& group : result.groups) {
    group.speeds.assign(group.members.size(), std::nullopt);
    group.summed_utilisation = 0;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const AloneRun& alone = result.alone[group.members[i]];
      const auto part = UtilisationOf(result, alone.summary);
      if (part && group.summed_utilisation) {
        *group.summed_utilisation += *part;
      } else {
        group.summed_utilisation.reset();
      }
      const auto base = alone.Rate();
      if (group.state != CellState::kDone || i >= group.runs.size() || !base || *base <= 0) {
        continue;
      }
      const auto& together = group.runs[i].profile.steps_per_second;
      if (together) group.speeds[i] = *together / *base;
    }
    group.fit = PackingOf(group);
  }
}

}  // namespace sharewell::measure
