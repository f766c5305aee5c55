#include "research/evaluate/measured_slowdowns.h"

#include <fmt/format.h>

#include "advice/measured_groups.h"
#include "catalogue/groups_file.h"
#include "core/numbers/statistics.h"
#include "platform/files/embedded.h"

namespace sharewell::research {
namespace {

std::string InWords(const core::Workload& workload) {
  return fmt::format("{} batch {} {}", workload.name, workload.batch, workload.precision);
}

struct MeasuredJob {
  core::Workload workload;
  core::Ratio busy = 0, sm_share = 1, speed = 1;
};

void Add(const std::vector<MeasuredJob>& group, std::vector<MeasuredSlowdown>& out) {
  MeasuredSlowdown one;
  one.jobs = group.size();
  for (const MeasuredJob& job : group) {
    one.utilisation += job.busy;
    one.all_sms = one.all_sms && job.sm_share >= 1;
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    one.job = InWords(group[i].workload);
    one.beside.clear();
    for (std::size_t k = 0; k < group.size(); ++k) {
      if (k == i) continue;
      one.beside += (one.beside.empty() ? "" : " and ") + InWords(group[k].workload);
    }
    one.slowdown = 1 / group[i].speed - 1;
    out.push_back(one);
  }
}

}  // namespace

core::Result<std::vector<MeasuredSlowdown>> MeasuredSlowdowns() {
  const auto groups = advice::BuiltinColocations();
  RETURN_IF_ERROR(groups);
  std::vector<MeasuredSlowdown> out;
  for (const predict::Colocation& group : groups->groups) {
    if (group.residents.size() < 2) continue;  // alone, with a share
    std::vector<MeasuredJob> jobs;
    for (std::size_t i = 0; i < group.residents.size(); ++i) {
      const predict::Resident& resident = group.residents[i];
      jobs.push_back({resident.workload, resident.demand.busy, resident.sm_share, group.speeds[i]});
    }
    Add(jobs, out);
  }
  // Ryu and Chun's six, some of which have no profile: their utilisation is in the file itself.
  const auto packing = catalogue::ReadMeasuredGroups(platform::EmbeddedH200Packing(),
                                                     "the built-in data/h200/packing.csv");
  RETURN_IF_ERROR(packing);
  for (const catalogue::MeasuredGroup& group : *packing) {
    std::vector<MeasuredJob> jobs;
    for (const catalogue::GroupMember& member : group) {
      if (!member.busy || !member.alone || *member.alone <= 0) break;
      jobs.push_back({member.workload, *member.busy, member.sm_share,
                      member.steps_per_second / *member.alone});
    }
    if (jobs.size() == group.size()) Add(jobs, out);
  }
  return out;
}

SlowdownCorrelation CorrelationOf(const std::vector<MeasuredSlowdown>& points) {
  std::vector<double> utilisation, slowdown;
  for (const MeasuredSlowdown& point : points) {
    utilisation.push_back(point.utilisation);
    slowdown.push_back(point.slowdown);
  }
  return {points.size(), core::Pearson(utilisation, slowdown),
          core::Spearman(utilisation, slowdown)};
}

}  // namespace sharewell::research
