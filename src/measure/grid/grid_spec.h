// What `sharewell sweep` is asked: command templates and the axes they are run over. Format:
// docs/formats/sweep.md. Pure but for ReadSweepSpec, which maps the file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/profile.h"
#include "core/result.h"
#include "core/units.h"
#include "measure/throughput.h"

namespace sharewell::measure {

inline constexpr std::size_t kMostCells = 100'000;

struct AxisValue {
  std::string text;              // as it is put into a command
  std::optional<double> number;  // absent: it is no number

  friend bool operator==(const AxisValue&, const AxisValue&) = default;
};

struct Axis {
  std::string name;
  std::vector<AxisValue> values;
};

// How each run is looked at.
struct Measuring {
  std::optional<core::Seconds> seconds = core::Seconds(10);  // absent: until the figures settle
  std::optional<core::Seconds> warmup = {};                  // absent: found by itself
  core::Seconds interval{0.5};
  core::Seconds at_most{300};  // since its start
  int repeat = 1;
  ThroughputSource throughput = {};
};

// Texts with {axis} in them. Empty: not said.
struct WorkloadTemplate {
  std::string name, batch, precision, workers;
};

// A cell is left out when each of these axes has one of these values.
using SkipRule = std::vector<std::pair<std::string, std::vector<AxisValue>>>;

// One command template over its axes. Names of axes that mean something are applied to the run:
// cpus, threads, gpus, memory.
struct RunTemplate {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  // values are templates too
  std::vector<Axis> axes;                                        // in the order of the file
  std::vector<SkipRule> skip;
  WorkloadTemplate workload;
  Measuring measuring;
};

struct SweepSpec {
  std::string name;
  std::vector<RunTemplate> runs;
};

core::Result<SweepSpec> ReadSweepSpec(const std::string& path);
core::Result<SweepSpec> ReadSweepSpecText(std::string_view text, const std::string& name);

// One point of the grid: which run, and which value on each of its axes.
struct GridPoint {
  std::size_t run = 0;
  std::vector<std::size_t> values;

  friend bool operator==(const GridPoint&, const GridPoint&) = default;
};

// All points that no rule leaves out, the first axis slowest. At most kMostCells: the reader has
// seen to it.
std::vector<GridPoint> GridOf(const SweepSpec& spec);

// A point with everything put in.
struct GridCell {
  std::string label;  // "model=alexnet cpus=4"
  std::string key;    // 16 hex digits: of the command and all settings, so of what would be run
  std::vector<std::pair<std::string, AxisValue>> axes;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  core::Workload workload;
  std::optional<int> cpus, threads, gpus;
  std::optional<core::Bytes> memory;
  Measuring measuring;
};
GridCell CellAt(const SweepSpec& spec, const GridPoint& point);

// `text` with {name} replaced and {{, }} made single. REQUIRES: every name is among the axes.
std::string Filled(std::string_view text,
                   const std::vector<std::pair<std::string, AxisValue>>& axes);
// 16 hex digits of the parts, kept apart. The same on every machine.
std::string KeyOf(const std::vector<std::string>& parts);
// What of the settings changes a result: part of a key.
std::string KeyText(const Measuring& measuring);

}  // namespace sharewell::measure
