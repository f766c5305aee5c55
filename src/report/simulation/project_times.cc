#include "report/simulation/project_times.h"

#include <fmt/format.h>

#include <utility>

#include "report/simulation/group_times.h"
#include "report/text/format.h"
#include "report/text/table.h"

namespace sharewell::report {
namespace {

using simulation::ProjectTimes;

Table ProjectsTable(const std::vector<std::string>& names, const std::vector<ProjectRuns>& policies,
                    std::size_t begin, std::size_t end) {
  std::vector<std::pair<std::string, Align>> columns = {
      {"project", Align::kLeft}, {"share", Align::kRight}, {"jobs", Align::kRight}};
  for (std::size_t p = begin; p < end; ++p) {
    columns.emplace_back(names[p] + ", GPU hours", Align::kRight);
    columns.emplace_back("wait, mean", Align::kRight);
  }
  Table table(columns);
  const std::vector<ProjectTimes>& projects = *policies.front().front();
  for (std::size_t i = 0; i < projects.size(); ++i) {
    std::vector<std::string> cells = {projects[i].times.name,
                                      fmt::format("{:.3g} %", projects[i].share * 100),
                                      Number(static_cast<double>(projects[i].times.jobs), 0)};
    for (std::size_t p = begin; p < end; ++p) {
      std::vector<std::optional<double>> hours, waits;
      for (const auto* seed : policies[p]) {
        hours.emplace_back((*seed)[i].gpu_hours);
        waits.push_back((*seed)[i].times.wait_mean);
      }
      cells.push_back(SpreadText(hours, [](double x) { return fmt::format("{:.1f}", x); }));
      cells.push_back(SpreadText(waits, [](double x) { return Duration(core::Seconds(x)); }));
    }
    table.Row(std::move(cells));
  }
  return table;
}

}  // namespace

std::string ProjectsText(const std::vector<std::string>& names,
                         const std::vector<ProjectRuns>& policies, std::size_t width) {
  if (policies.empty() || policies.front().front()->empty()) return {};
  std::string text = "projects: the share of the GPUs, what was used and how long jobs waited\n\n";
  for (std::size_t begin = 0; begin < policies.size();) {
    std::size_t end = begin + 1;
    while (end < policies.size() &&
           ProjectsTable(names, policies, begin, end + 1).Width() <= width) {
      ++end;
    }
    if (begin > 0) text += '\n';
    text += ProjectsTable(names, policies, begin, end).Text();
    begin = end;
  }
  return text;
}

void WriteProjects(json::Writer& out, const std::vector<ProjectTimes>& projects) {
  if (projects.empty()) return;
  out.List("by_project", projects, [&](const ProjectTimes& project) {
    out.Object([&] {
      out.Field("project", project.times.name);
      out.Field("share", project.share);
      out.Field("jobs", project.times.jobs);
      out.Field("gpu_hours", project.gpu_hours);
      for (const GroupFigure& figure : GroupFigures()) {
        out.Field(figure.key, project.times.*figure.of);
      }
    });
  });
}

}  // namespace sharewell::report
