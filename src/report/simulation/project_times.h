// What each project had under each policy: its share, its GPU hours, its mean wait.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "json/writer.h"
#include "simulation/summary.h"

namespace sharewell::report {

// A policy's projects, one list a seed.
using ProjectRuns = std::vector<const std::vector<simulation::ProjectTimes>*>;

// `names`: of the policies. Empty where there are no projects.
std::string ProjectsText(const std::vector<std::string>& names,
                         const std::vector<ProjectRuns>& policies, std::size_t width);

// Nothing where there are none.
void WriteProjects(json::Writer& out, const std::vector<simulation::ProjectTimes>& projects);

}  // namespace sharewell::report
