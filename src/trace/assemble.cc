#include "trace/assemble.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sharewell::trace {
namespace {

// Jobs are large: sort their times and places, which lie close together, then bring each job to its
// place in one move, cycle by cycle. A second vector of jobs would cost more than all the parsing.
void SortBySubmit(std::vector<TraceJob>& jobs) {
  std::vector<std::pair<double, std::size_t>> order(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) order[i] = {jobs[i].submit.value, i};
  std::sort(order.begin(), order.end());
  for (std::size_t start = 0; start < jobs.size(); ++start) {
    if (order[start].second == start) continue;
    TraceJob held = std::move(jobs[start]);
    std::size_t to = start;
    while (order[to].second != start) {
      const std::size_t from = std::exchange(order[to].second, to);
      jobs[to] = std::move(jobs[from]);
      to = from;
    }
    order[to].second = to;
    jobs[to] = std::move(held);
  }
}

}  // namespace

bool HasColumns(std::string_view text, std::initializer_list<std::string_view> columns) {
  const auto header = platform::CsvHeader(text);
  return std::all_of(columns.begin(), columns.end(), [&](std::string_view column) {
    return std::find(header.begin(), header.end(), column) != header.end();
  });
}

core::Result<Trace> Assemble(Trace trace, const std::string& name) {
  auto& jobs = trace.jobs;
  if (jobs.empty()) return core::UsageError("{}: holds no job; a trace has at least one", name);
  const auto earlier = [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; };
  if (!std::is_sorted(jobs.begin(), jobs.end(), earlier)) {
    SortBySubmit(jobs);
  }
  const core::Seconds first = jobs.front().submit;
  for (auto& job : jobs) job.submit -= first;
  return trace;
}

}  // namespace sharewell::trace
