// What a sweep came to: its cells with their figures, and its curves. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/job/profile_record.h"
#include "measure/grid/grid_spec.h"
#include "measure/grid/knee.h"

namespace sharewell::measure {

// One run in a few figures: what the journal of a sweep or a co-location keeps of it.
struct RunSummary {
  core::Profile profile;
  std::optional<core::BytesPerSecond> pcie_sent, pcie_received;
  // Of the busiest GPU of the machine, whoever used it: beside others a profile has no figures of
  // it.
  std::optional<core::Ratio> device_busy, device_sm, device_dram;
  std::optional<core::Watts> device_power;
  std::optional<core::Ratio> uncertainty;  // of the rate (or busy): half of its 95 % interval
  bool settled = false;
  core::Seconds warmup, window;
  std::optional<int> exit_code;  // none: stopped by us, as it should be
  std::int64_t profile_id = 0;   // in the store; 0: not stored
  std::string throughput_source, bound_by;
  std::vector<std::string> notes;

  friend bool operator==(const RunSummary&, const RunSummary&) = default;
};

enum class CellState {
  kDone,
  kFailed,   // it ran and went wrong; `why`
  kLeftOut,  // this machine has not what it asks for; `why`
  kWaiting,  // not run: interrupted before
};

struct SweepCell {
  GridCell cell;
  std::size_t run = 0;  // index of its RunTemplate
  CellState state = CellState::kWaiting;
  std::string why = {};
  RunSummary summary = {};   // kDone
  bool from_before = false;  // found in the journal, not run now
};

// Steps a second, or samples where every cell says its batch.
enum class ThroughputUnit { kSteps, kSamples };

struct SweepPoint {
  double x = 0;
  std::optional<double> throughput = {};
  std::optional<core::Ratio> uncertainty = {};
  std::optional<core::Ratio> busy = {}, sm = {}, cpu = {};  // cpu: of the cores it may use
};

struct SweepLine {
  std::string name;                // the values of the other axes
  std::vector<SweepPoint> points;  // x rising
  std::optional<Knee> knee;        // for axes of which more is a resource
};

// Throughput and utilisation against one axis.
struct SweepPlot {
  std::string axis;
  std::string configuration = {};  // CODA's aNbG: "1N1G"; empty: the lines differ
  std::vector<SweepLine> lines = {};
};

struct SweepResult {
  std::string name;
  std::string gpu;                // model; empty: none here
  int cores = 0;                  // that could be given
  std::vector<std::string> axes;  // all names, in order of first appearance
  std::vector<SweepCell> cells;
  ThroughputUnit unit = ThroughputUnit::kSteps;
  std::vector<SweepPlot> plots;
  // One for each workload, with the curve over cpus where there is one.
  std::vector<RunSummary> profiles;
  std::vector<std::string> notes;
  bool interrupted = false;

  std::size_t Count(CellState state) const;
};

// Of a cell, in the sweep's unit.
std::optional<double> ThroughputOf(const SweepResult& result, const RunSummary& summary);

// Fills unit, plots, profiles and their notes from the cells. Pure.
void DrawConclusions(SweepResult& result);

}  // namespace sharewell::measure
