#include "advice/measured_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "catalogue/builtin_measurements.h"
#include "interference/carry_over.h"

namespace sharewell::advice {
namespace {

using catalogue::GroupMember;
using predict::Figure;

class Profiles {
 public:
  explicit Profiles(std::span<const core::Profile> profiles) {
    for (const core::Profile& profile : profiles) {
      exact_.emplace(profile.workload, &profile);
      core::Workload any = profile.workload;
      any.workers = 0;
      of_any_workers_.emplace(any, &profile);
    }
  }
  const core::Profile* Find(core::Workload workload) const {
    if (const auto it = exact_.find(workload); it != exact_.end()) return it->second;
    workload.workers = 0;
    const auto it = of_any_workers_.find(workload);
    return it == of_any_workers_.end() ? nullptr : it->second;
  }

 private:
  std::map<core::Workload, const core::Profile*> exact_, of_any_workers_;
};

// The job as it was alone when the group was measured.
predict::Resident ThereAndThen(const GroupMember& member, core::Profile profile, double alone) {
  // Where busy was measured there, so was the time of a kernel; else it is the profile's.
  const auto kernel_time =
      profile.kernel_time ? profile.kernel_time : interference::MeanKernelTime(profile);
  profile.kernel_time = member.busy && profile.kernels ? std::nullopt : kernel_time;
  const double faster = profile.steps_per_second ? alone / *profile.steps_per_second : 1;
  const auto scale = [](auto& figure, double factor) {
    if (figure) figure = std::min(1.0, *figure * factor);
  };
  double busier = faster;
  if (member.busy) {
    busier = profile.busy && *profile.busy > 0 ? *member.busy / *profile.busy : 1;
    profile.busy = member.busy;
  } else {
    scale(profile.busy, faster);
  }
  scale(profile.sm, busier);
  scale(profile.dram, busier);
  if (member.sm) profile.sm = member.sm;
  if (member.dram) profile.dram = member.dram;
  if (profile.sm && profile.busy) profile.sm = std::min(*profile.sm, *profile.busy);
  if (profile.cpu_cores) profile.cpu_cores = *profile.cpu_cores * faster;
  if (member.cpu_cores) profile.cpu_cores = member.cpu_cores;
  profile.steps_per_second = alone;
  profile.workload = member.workload;
  predict::Resident resident = ResidentOf(profile);
  resident.sm_share = member.sm_share;
  return resident;
}

// What was predicted of a workload before its family had been seen; absent: it was not learnt from.
std::optional<predict::Resident> Foretold(const predict::Predictor& predictor,
                                          const core::Profile& profile, const GroupMember& member) {
  const core::Workload& w = profile.workload;
  const predict::Known* known = predictor.Find(w.name, w.batch, w.precision, w.workers);
  if (known == nullptr) return std::nullopt;
  const auto figure = [&](Figure f) { return known->held_out[predict::Index(f)]; };
  if (!figure(Figure::kBusy) || !figure(Figure::kSm) || !figure(Figure::kDram)) return std::nullopt;
  predict::Resident out;
  out.workload = member.workload;
  out.sm_share = member.sm_share;
  out.predicted = true;
  out.demand.known = true;
  out.demand.busy = *figure(Figure::kBusy);
  out.demand.sm = std::min(*figure(Figure::kSm), out.demand.busy);
  out.demand.dram = *figure(Figure::kDram);
  out.demand.cpu_cores = figure(Figure::kCores).value_or(1);
  out.demand.kernels = profile.kernels;
  if (figure(Figure::kBusySeconds) && profile.kernels && *profile.kernels > 0) {
    out.demand.kernel_time = core::Seconds(*figure(Figure::kBusySeconds) / *profile.kernels);
  }
  out.step = core::Seconds(figure(Figure::kStepSeconds).value_or(0));
  return out;
}

}  // namespace

predict::Resident ResidentOf(const core::Profile& profile) {
  predict::Resident resident;
  resident.workload = profile.workload;
  resident.demand = interference::DemandOf(profile);
  if (profile.steps_per_second) resident.step = core::Seconds(1 / *profile.steps_per_second);
  return resident;
}

core::Result<MeasuredColocations> ColocationsOf(std::span<const catalogue::MeasuredGroup> measured,
                                                std::span<const core::Profile> profiles,
                                                const predict::Predictor* predictor) {
  const Profiles known(profiles);
  MeasuredColocations out;
  std::vector<predict::Colocation> limited;
  std::set<std::tuple<core::Workload, double, double>> seen;
  for (const catalogue::MeasuredGroup& together : measured) {
    predict::Colocation group;
    for (const GroupMember& member : together) {
      const core::Profile* profile = known.Find(member.workload);
      if (profile == nullptr) break;
      const auto alone = member.alone ? member.alone : profile->steps_per_second;
      if (!alone || *alone <= 0) {
        return core::UsageError(
            "'{}' was measured together with others and has no rate alone: add its row to the "
            "profiles, or columns with its rate alone",
            member.workload.name);
      }
      group.residents.push_back(ThereAndThen(member, *profile, *alone));
      group.speeds.push_back(member.steps_per_second / *alone);
      if (predictor != nullptr) {
        if (auto foretold = Foretold(*predictor, *profile, member)) {
          group.predicted.push_back(std::move(*foretold));
        }
      }
      if (member.sm_share < 1 && member.limited_alone &&
          seen.emplace(member.workload, member.sm_share, *member.limited_alone).second) {
        limited.push_back({{group.residents.back()}, {*member.limited_alone / *alone}});
      }
    }
    if (group.residents.size() < together.size() || together.size() < 2) {
      ++out.left_out;
      continue;
    }
    if (group.predicted.size() < group.residents.size()) group.predicted.clear();
    out.groups.push_back(std::move(group));
  }
  if (out.groups.empty()) {
    return core::UsageError(
        "there is no group with a profile of every workload in it; add their rows to the profiles");
  }
  for (predict::Colocation& alone : limited) out.groups.push_back(std::move(alone));
  return out;
}

core::Result<MeasuredColocations> BuiltinColocations(const predict::Predictor* predictor) {
  return ColocationsOf(catalogue::BuiltinMeasuredGroups(), catalogue::ProfilesOfMeasuredGroups(),
                       predictor);
}

}  // namespace sharewell::advice
