#include "report/html/simulation_gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/text/format.h"

namespace sharewell::report {
namespace {

using simulation::PolicyResult;
using simulation::SimulatedDecision;
using simulation::SimulatedJob;

constexpr std::size_t kMostGanttGpus = 64, kMostGanttSpans = 4000;
constexpr double kShortestGantt = 1e-3;  // seconds: below it an axis has no labels

struct Placed {
  double from = 0, to = 0;
  const SimulatedJob* job = nullptr;
  std::vector<std::string> gpus;
};

bool Places(const SimulatedDecision& decision) {
  return decision.what == "start" || decision.what == "move";
}

// Each stay of a job on its GPUs: until it is moved, stopped or over.
std::vector<Placed> StaysOf(const PolicyResult& policy, double end) {
  std::map<std::string_view, const SimulatedJob*> jobs;
  for (const SimulatedJob& job : policy.jobs) jobs.emplace(job.id, &job);
  std::map<std::string_view, std::size_t> open;
  std::vector<Placed> stays;
  for (const SimulatedDecision& decision : policy.decisions) {
    if (decision.what == "wait" || decision.what == "resize" || decision.what == "throttle")
      continue;
    const auto job = jobs.find(decision.job);
    if (job == jobs.end()) continue;
    if (const auto before = open.find(decision.job); before != open.end()) {
      stays[before->second].to = std::min(stays[before->second].to, decision.time);
      open.erase(before);
    }
    if (!Places(decision) || decision.gpus.empty()) continue;
    open[decision.job] = stays.size();
    stays.push_back({decision.time, job->second->finish.value_or(end), job->second, decision.gpus});
  }
  return stays;
}

// "n2:10" behind "n2:9".
bool ByGpu(const GanttRow& a, const GanttRow& b) {
  const auto parts = [](const std::string& name) {
    const auto colon = std::min(name.rfind(':'), name.size());
    const std::string number = colon < name.size() ? name.substr(colon + 1) : std::string();
    return std::tuple(name.substr(0, colon), number.size(), number);
  };
  return parts(a.name) < parts(b.name);
}

}  // namespace

std::optional<Gantt> SimulationGantt(const PolicyResult& policy) {
  double least = 0, most = 0;
  bool any = false;
  for (const SimulatedJob& job : policy.jobs) {
    least = any ? std::min(least, job.submit) : job.submit;
    most = std::max({any ? most : job.submit, job.finish.value_or(job.submit), job.submit});
    any = true;
  }
  if (!any || most - least < kShortestGantt) return std::nullopt;
  const std::vector<Placed> stays = StaysOf(policy, most);
  const double unit = most - least <= 5 * 3600 ? 60 : most - least <= 4 * 86400 ? 3600 : 86400;
  std::map<std::string, std::size_t> colours;
  std::map<std::string, GanttRow> rows;
  std::size_t spans = 0;
  for (const Placed& stay : stays) {
    const auto colour = colours.emplace(stay.job->user, colours.size()).first->second;
    for (const std::string& gpu : stay.gpus) {
      GanttRow& row = rows[gpu];
      row.name = gpu;
      row.spans.push_back(
          {(stay.from - least) / unit, (std::max(stay.to, stay.from) - least) / unit, colour,
           stay.job->id,
           fmt::format("{} of {}, {}", stay.job->id, stay.job->user,
                       Duration(core::Seconds(std::max(0.0, stay.to - stay.from))))});
      ++spans;
    }
  }
  if (rows.empty() || rows.size() > kMostGanttGpus || spans > kMostGanttSpans) return std::nullopt;
  Gantt gantt;
  gantt.title = policy.summary.policy + ": which jobs each GPU held";
  gantt.subtitle = "a colour for each user";
  gantt.time = {fmt::format("{} since the first submission", unit == 60     ? "minutes"
                                                             : unit == 3600 ? "hours"
                                                                            : "days"),
                0, (most - least) / unit};
  for (auto& [name, row] : rows) gantt.rows.push_back(std::move(row));
  std::sort(gantt.rows.begin(), gantt.rows.end(), ByGpu);
  for (const auto& [user, colour] : colours) {
    if (colour < kChartColours) gantt.keys.push_back({user, colour});
  }
  std::sort(gantt.keys.begin(), gantt.keys.end(),
            [](const ChartKey& a, const ChartKey& b) { return a.colour < b.colour; });
  if (colours.size() > kChartColours) gantt.keys.push_back({"others", kChartColours});
  return gantt;
}

}  // namespace sharewell::report
