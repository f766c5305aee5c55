// From rates together and alone to speeds.
#include <algorithm>

#include "study/colocate_result.h"

namespace sharewell::study {
namespace {

// What is summed: GPU busy, or, where nothing runs on a GPU, the share of the cores.
std::optional<double> UtilisationOf(const ColocateResult& result, const RunSummary& run) {
  if (!result.gpu.empty()) return run.profile.busy ? run.profile.busy : run.device_busy;
  if (!run.profile.cpu_cores || result.cores == 0) return std::nullopt;
  return *run.profile.cpu_cores / result.cores;
}

Packing PackingOf(const ColocatedSet& company) {
  if (!company.fits) return Packing::kDoesNotFit;
  if (company.state != CellState::kDone) return Packing::kUnknown;
  const double turns = 1.0 / static_cast<double>(company.members.size());
  bool all = true;
  for (const auto& speed : company.speeds) {
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
  for (ColocatedSet& company : result.companies) {
    company.speeds.assign(company.members.size(), std::nullopt);
    company.summed_utilisation = 0;
    for (std::size_t i = 0; i < company.members.size(); ++i) {
      const AloneRun& alone = result.alone[company.members[i]];
      const auto part = UtilisationOf(result, alone.summary);
      if (part && company.summed_utilisation) {
        *company.summed_utilisation += *part;
      } else {
        company.summed_utilisation.reset();
      }
      const auto base = alone.Rate();
      if (company.state != CellState::kDone || i >= company.runs.size() || !base || *base <= 0) {
        continue;
      }
      const auto& together = company.runs[i].profile.steps_per_second;
      if (together) company.speeds[i] = *together / *base;
    }
    company.fit = PackingOf(company);
  }
}

}  // namespace sharewell::study
