#include <utility>
#include <vector>

#include "simulation/scenario.h"

namespace sharewell::simulation {

void CountToProjects(core::Projects projects, Scenario& scenario) {
  scenario.projects = std::move(projects);
  std::vector<core::ProjectId> of_user;
  for (const std::string& user : scenario.users) {
    of_user.push_back(core::ProjectsOf(scenario.projects, user).front());
  }
  for (core::Job& job : scenario.jobs) job.project = of_user[job.user.index()];
}

}  // namespace sharewell::simulation
