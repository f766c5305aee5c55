#include "measure/grid/grid_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/text/parse_number.h"
#include "measure/grid/grid_spec_template.h"

namespace sharewell::measure {
namespace {

bool Skipped(const RunTemplate& run, const std::vector<std::size_t>& values) {
  return std::any_of(run.skip.begin(), run.skip.end(), [&](const SkipRule& rule) {
    return std::all_of(rule.begin(), rule.end(), [&](const auto& condition) {
      for (std::size_t i = 0; i < run.axes.size(); ++i) {
        if (run.axes[i].name != condition.first) continue;
        const AxisValue& value = run.axes[i].values[values[i]];
        return std::find(condition.second.begin(), condition.second.end(), value) !=
               condition.second.end();
      }
      return false;
    });
  });
}

int ToInt(const std::string& digits) {
  return digits.empty() ? 0 : static_cast<int>(std::stod(digits));
}

}  // namespace

std::vector<GridPoint> GridOf(const SweepSpec& spec) {
  std::vector<GridPoint> out;
  for (std::size_t r = 0; r < spec.runs.size(); ++r) {
    const RunTemplate& run = spec.runs[r];
    std::vector<std::size_t> values(run.axes.size(), 0);
    while (true) {
      if (!Skipped(run, values)) out.push_back({r, values});
      std::size_t axis = run.axes.size();
      while (axis > 0 && ++values[axis - 1] == run.axes[axis - 1].values.size()) {
        values[--axis] = 0;
      }
      if (axis == 0) break;
    }
  }
  return out;
}

GridCell CellAt(const SweepSpec& spec, const GridPoint& point) {
  const RunTemplate& run = spec.runs[point.run];
  GridCell cell;
  cell.measuring = run.measuring;
  for (std::size_t i = 0; i < run.axes.size(); ++i) {
    const Axis& axis = run.axes[i];
    const AxisValue& value = axis.values[point.values[i]];
    cell.axes.emplace_back(axis.name, value);
    if (axis.values.size() > 1) {
      cell.label += fmt::format("{}{}={}", cell.label.empty() ? "" : " ", axis.name, value.text);
    }
    if (axis.name == "cpus") cell.cpus = static_cast<int>(*value.number);
    if (axis.name == "threads") cell.threads = static_cast<int>(*value.number);
    if (axis.name == "gpus") cell.gpus = static_cast<int>(*value.number);
    if (axis.name == "memory") cell.memory = core::ParseMemory(value.text);
  }
  for (const std::string& part : run.command) cell.command.push_back(Filled(part, cell.axes));
  for (const auto& [name, value] : run.environment) {
    cell.environment.emplace_back(name, Filled(value, cell.axes));
  }
  cell.workload = {
      Filled(run.workload.name, cell.axes), ToInt(Filled(run.workload.batch, cell.axes)),
      Filled(run.workload.precision, cell.axes), ToInt(Filled(run.workload.workers, cell.axes))};
  if (spec.runs.size() > 1 || cell.label.empty()) {
    // Several runs may have the same axes: what they run tells them apart.
    const core::Workload& workload = cell.workload;
    std::string said = workload.name;
    if (workload.batch > 0) said += fmt::format(" batch {}", workload.batch);
    if (!workload.precision.empty()) said += " " + workload.precision;
    cell.label = said + (cell.label.empty() ? "" : " ") + cell.label;
  }
  std::vector<std::string> parts = cell.command;
  for (const auto& [name, value] : cell.environment) parts.push_back(name + "=" + value);
  parts.push_back(fmt::format("{}/{}/{}/{}", cell.workload.name, cell.workload.batch,
                              cell.workload.precision, cell.workload.workers));
  parts.push_back(fmt::format("{} {} {} {}", cell.cpus.value_or(-1), cell.threads.value_or(-1),
                              cell.gpus.value_or(-1), cell.memory.value_or(core::Bytes(-1)).value));
  parts.push_back(KeyText(cell.measuring));
  for (const auto& [name, value] : cell.axes) parts.push_back(name + "=" + value.text);
  cell.key = KeyOf(parts);
  return cell;
}

std::string Filled(std::string_view text,
                   const std::vector<std::pair<std::string, AxisValue>>& axes) {
  std::string out;
  const auto problem = ForEachPart(
      text, [&](std::string_view literal) { out += literal; },
      [&](std::string_view name) {
        const auto at = std::find_if(axes.begin(), axes.end(),
                                     [&](const auto& axis) { return axis.first == name; });
        SHAREWELL_CHECK(at != axes.end());
        out += at->second.text;
      });
  SHAREWELL_CHECK(problem.empty());
  return out;
}

std::string KeyOf(const std::vector<std::string>& parts) {
  // FNV-1a; a zero byte, which no part holds, keeps the parts apart.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3ULL; };
  for (const std::string& part : parts) {
    for (const char c : part) add(static_cast<unsigned char>(c));
    add(0);
  }
  return fmt::format("{:016x}", hash);
}

std::string KeyText(const Measuring& m) {
  const auto time = [](const std::optional<core::Seconds>& seconds) {
    return seconds ? fmt::format("{}", seconds->value) : std::string("auto");
  };
  return fmt::format("{} {} {} {} {} {} {}", time(m.seconds), time(m.warmup), m.interval.value,
                     m.at_most.value, m.repeat, static_cast<int>(m.throughput.kind),
                     m.throughput.expression);
}

}  // namespace sharewell::measure
