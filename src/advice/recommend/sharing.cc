#include "advice/recommend/sharing.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "advice/measured_groups.h"
#include "catalogue/builtin_measurements.h"

namespace sharewell::advice::recommend {
namespace {

constexpr std::size_t kShown = 3;
constexpr double kWorthMore = 1.1;  // what two jobs must do together, of one's work

// The profile of this very setting, if it was measured.
const core::Profile* Measured(const std::vector<core::Profile>& profiles, const Setting& setting,
                              const std::string& workload) {
  const auto it = std::find_if(profiles.begin(), profiles.end(), [&](const core::Profile& p) {
    return p.workload.name == workload && p.workload.batch == setting.batch &&
           p.workload.precision == setting.precision && p.workload.workers == setting.workers;
  });
  return it == profiles.end() ? nullptr : &*it;
}

void AddNeighbours(const predict::Resident& resident, double memory, const core::GpuModel& gpu,
                   const std::vector<core::Profile>& profiles,
                   const predict::ColocationModel& model, SharingAdvice& advice) {
  std::set<std::string> seen;
  for (const core::Profile& profile : profiles) {
    if (!seen.insert(profile.workload.name).second || !profile.busy || !profile.steps_per_second) {
      continue;
    }
    ++advice.neighbours;
    const std::array<predict::Resident, 2> both = {resident, advice::ResidentOf(profile)};
    const auto speeds = model.Speeds(both);
    const bool fit = memory + both[1].demand.gpu_memory.value <= gpu.memory.value;
    if (!fit || speeds[0].median < kKeptBeside || speeds[1].median < kKeptBeside) continue;
    ++advice.good;
    advice.best.push_back({profile.workload.name, speeds[0].median, speeds[1].median});
  }
  std::stable_sort(advice.best.begin(), advice.best.end(),
                   [](const Neighbour& a, const Neighbour& b) {
                     return a.speed + a.others > b.speed + b.others;
                   });
  if (advice.best.size() > kShown) advice.best.resize(kShown);
}

}  // namespace

SharingAdvice AdviseSharing(const std::optional<Forecast>& forecast, const Cell& cell,
                            const std::string& workload, const core::GpuModel& gpu,
                            const catalogue::GpuCatalogue& catalogue,
                            const predict::ColocationModel& model) {
  SharingAdvice advice;
  std::vector<core::Profile> profiles = catalogue::BuiltinMeasurements().profiles;
  std::erase_if(profiles, [&](const core::Profile& profile) {
    const auto on = catalogue.Find(profile.gpu);
    return !on || on->name != gpu.name;
  });
  const core::Profile* measured =
      workload.empty() ? nullptr : Measured(profiles, cell.setting, workload);
  if (measured == nullptr && !forecast) return advice;
  const predict::Resident resident =
      measured != nullptr ? advice::ResidentOf(*measured) : ResidentOf(*forecast, "");
  advice.twice = Together(model, resident);
  const double memory =
      measured != nullptr ? resident.demand.gpu_memory.value : forecast->memory_upper;
  advice.twice_fit = 2 * memory <= gpu.memory.value;
  AddNeighbours(resident, memory, gpu, profiles, model, advice);

  const bool kept = *advice.twice_fit && advice.twice->median >= kKeptBeside;
  const bool more = *advice.twice_fit && 2 * advice.twice->median >= kWorthMore;
  const bool often = advice.neighbours > 0 && 2 * advice.good >= advice.neighbours;
  advice.advice = kept ? "yes" : more || often ? "perhaps" : "no";
  return advice;
}

void AddTogether(std::vector<Cell>& cells, const std::string& workload,
                 const predict::ColocationModel& model) {
  const std::vector<core::Profile> profiles = catalogue::BuiltinMeasurements().profiles;
  for (Cell& cell : cells) {
    const core::Profile* profile = Measured(profiles, cell.setting, workload);
    if (profile != nullptr) cell.together = Together(model, advice::ResidentOf(*profile));
  }
}

}  // namespace sharewell::advice::recommend
