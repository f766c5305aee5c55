#include "study/reproduce/core_sweep.h"

#include <algorithm>
#include <array>
#include <utility>

#include "platform/files/csv.h"
#include "platform/files/embedded.h"

namespace sharewell::study::reproduce {
namespace {

// What the experiments call them.
constexpr std::array<std::pair<std::string_view, const char*>, 4> kLabels{{
    {"tv:alexnet@224", "alexnet"},
    {"tv:resnet50@224", "resnet50"},
    {"tv:vgg16@224", "vgg16"},
    {"enc:512x6", "transformer"},
}};

}  // namespace

const CoreCell& CoreCurve::At(double cpus) const {
  const auto it = std::find_if(cells.begin(), cells.end(),
                               [&](const CoreCell& cell) { return cell.cpus == cpus; });
  SHAREWELL_CHECK(it != cells.end());
  return *it;
}

core::Result<std::vector<CoreCurve>> MeasuredCores() {
  platform::CsvReader csv(platform::EmbeddedH200Cores(), "data/h200/cores.csv");
  const auto workload = csv.Require("workload"), batch = csv.Require("batch"),
             cpus = csv.Require("cpus"), steps = csv.Require("steps_per_s"),
             uncertainty = csv.Require("uncertainty_percent"), cores = csv.Require("cpu_cores");
  std::vector<CoreCurve> curves;
  for (const auto& [_, label] : kLabels) curves.push_back({label, {}, {}});
  while (csv.Next()) {
    const auto name = csv.RequiredText(workload);
    for (std::size_t i = 0; i < kLabels.size(); ++i) {
      if (kLabels[i].first != name) continue;
      CoreCell cell;
      cell.cpus = csv.Number(cpus, {1, 1024});
      cell.samples_per_second = csv.Number(steps, {0, 1e9}) * csv.Number(batch, {1, 1e9});
      cell.uncertainty = csv.Number(uncertainty, {0, 100}) / 100;
      cell.cores_in_use = csv.Number(cores, {0, 1024});
      curves[i].cells.push_back(cell);
    }
  }
  if (!csv.ok()) return csv.error();
  for (CoreCurve& curve : curves) {
    std::vector<CurvePoint> points;
    for (const CoreCell& cell : curve.cells) {
      points.push_back({cell.cpus, cell.samples_per_second, cell.uncertainty});
    }
    const auto knee = FindKnee(points);
    SHAREWELL_CHECK(knee.has_value());
    curve.knee = *knee;
  }
  return curves;
}

}  // namespace sharewell::study::reproduce
