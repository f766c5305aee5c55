#include "core/projects.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sharewell::core {

Projects WithDefault(std::vector<Project> named) {
  if (named.empty()) return {};
  double left = 1;
  for (const Project& project : named) left -= project.share;
  Projects all;
  all.push_back({std::string(kDefaultProject), std::max(0.0, left), {}, named.front().reclaims});
  std::move(named.begin(), named.end(), std::back_inserter(all));
  return all;
}

std::vector<ProjectId> ProjectsOf(const Projects& projects, std::string_view user) {
  std::vector<ProjectId> of;
  for (std::size_t p = 1; p < projects.size(); ++p) {
    const auto& users = projects[p].users;
    if (std::find(users.begin(), users.end(), user) != users.end()) of.emplace_back(p);
  }
  if (of.empty()) of.emplace_back(0);
  return of;
}

ProjectId ProjectOf(const Projects& projects, std::string_view user, std::string_view asked) {
  const std::vector<ProjectId> of = ProjectsOf(projects, user);
  for (const ProjectId project : of) {
    if (!projects.empty() && projects[project.index()].name == asked) return project;
  }
  return of.front();
}

std::optional<ProjectId> ProjectNamed(const Projects& projects, std::string_view name) {
  for (std::size_t p = 0; p < projects.size(); ++p) {
    if (projects[p].name == name) return ProjectId(p);
  }
  return std::nullopt;
}

std::vector<Ratio> SharesOf(const Projects& projects) {
  std::vector<Ratio> shares;
  for (const Project& project : projects) shares.push_back(project.share);
  return shares;
}

bool Reclaim(const Projects& projects) { return !projects.empty() && projects.front().reclaims; }

std::vector<double> GpusInUse(const Snapshot& snapshot, std::size_t projects) {
  std::vector<double> gpus(projects);
  for (const JobId id : snapshot.running()) {
    const JobView& view = snapshot.job(id);
    if (view.job.placeholder || view.job.project.index() >= projects) continue;
    for (const GpuId gpu : view.allocation.gpus) {
      gpus[view.job.project.index()] += 1.0 / snapshot.residents(gpu).count();
    }
  }
  return gpus;
}

}  // namespace sharewell::core
