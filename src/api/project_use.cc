#include "api/project_use.h"

#include <fmt/format.h>

#include <map>

namespace sharewell::api {

std::vector<ProjectUse> UseOfProjects(const core::Projects& projects,
                                      const control::JobService& service) {
  std::vector<ProjectUse> uses(projects.size());
  if (projects.empty()) return uses;
  const control::ServiceView view = service.View();
  std::map<std::int64_t, std::size_t> project_of;
  for (const control::JobPtr& job : service.board().Live()) {
    const std::size_t project =
        core::ProjectOf(projects, job->user.name, job->asked.project).index();
    project_of[job->number] = project;
    const bool waits = job->phase == core::Phase::kWaiting;
    if (waits) ++uses[project].waiting;
    if (!waits && job->phase != core::Phase::kHeld) ++uses[project].running;
  }
  for (const control::GpuView& gpu : view.gpus) {
    for (const std::int64_t job : gpu.jobs) {
      const auto its = project_of.find(job);
      if (its == project_of.end()) continue;
      uses[its->second].gpus_in_use += 1.0 / static_cast<double>(gpu.jobs.size());
    }
  }
  for (std::size_t p = 0; p < uses.size(); ++p) {
    uses[p].gpus_of_share = projects[p].share * static_cast<double>(view.gpus.size());
  }
  return uses;
}

std::optional<std::string> ProjectInWords(const core::Projects& projects,
                                          const core::JobRecord& job,
                                          const control::JobService& service) {
  if (projects.empty() || job.phase != core::Phase::kWaiting) return std::nullopt;
  const std::size_t p = core::ProjectOf(projects, job.user.name, job.asked.project).index();
  const ProjectUse use = UseOfProjects(projects, service)[p];
  std::string what = use.has_share() ? "projects below theirs go first"
                                     : "it goes before projects that have theirs";
  if (projects[p].reclaims) {
    what += use.has_share() ? ", and take back what others borrowed"
                            : ", and takes back what others borrowed";
  }
  return fmt::format(
      "it counts to project {}, which has {:.3g} of the GPUs in use and a share of {:.3g}: {}",
      projects[p].name, use.gpus_in_use, use.gpus_of_share, what);
}

}  // namespace sharewell::api
