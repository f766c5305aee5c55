#include "study/prediction/measured_groups.h"

#include <map>
#include <utility>

#include "interference/carry_over.h"

namespace sharewell::study {

predict::Resident ResidentOf(const core::Profile& profile) {
  predict::Resident resident;
  resident.workload = profile.workload;
  resident.demand = interference::DemandOf(profile);
  if (profile.steps_per_second) resident.step = core::Seconds(1 / *profile.steps_per_second);
  return resident;
}

core::Result<std::vector<predict::Colocation>> ColocationsOf(
    std::span<const core::GroupMeasurement> measured, std::span<const core::Profile> profiles) {
  std::map<core::Workload, const core::Profile*> known;
  for (const core::Profile& profile : profiles) known.emplace(profile.workload, &profile);
  std::vector<predict::Colocation> out;
  for (const core::GroupMeasurement& together : measured) {
    predict::Colocation group;
    for (std::size_t k = 0; k < together.workloads.size(); ++k) {
      const auto it = known.find(together.workloads[k]);
      if (it == known.end()) {
        return core::UsageError(
            "workload '{}' was measured together with others, but there is no profile of it alone; "
            "add its row to the profiles",
            together.workloads[k].name);
      }
      group.residents.push_back(ResidentOf(*it->second));
      group.speeds.push_back(together.steps_per_second[k] / together.alone[k]);
    }
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace sharewell::study
