#include "research/reproduce/core_sweep.h"

#include <algorithm>
#include <array>
#include <utility>

#include "platform/files/csv.h"
#include "platform/files/embedded.h"

namespace sharewell::research::reproduce {
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

namespace {

constexpr double kMiB = 1024.0 * 1024;

// A curve for each workload and batch, in the file's order.
core::Result<std::vector<CoreCurve>> ReadCurves(std::string_view text, const char* file) {
  platform::CsvReader csv(text, file);
  const auto workload = csv.Require("workload"), batch = csv.Require("batch"),
             cpus = csv.Require("cpus"), steps = csv.Require("steps_per_s"),
             uncertainty = csv.Require("uncertainty_percent"), cores = csv.Require("cpu_cores"),
             sent = csv.Require("pcie_tx_mib_s"), received = csv.Require("pcie_rx_mib_s"),
             busy = csv.Require("gpu_util");
  std::vector<CoreCurve> curves;
  while (csv.Next()) {
    const std::string name(csv.RequiredText(workload));
    const int size = static_cast<int>(csv.Integer(batch, 1, 1'000'000));
    if (curves.empty() || curves.back().label != name || curves.back().batch != size) {
      curves.push_back({name, {}, {}, size});
    }
    CoreCell cell;
    cell.cpus = csv.Number(cpus, {1, 1024});
    cell.samples_per_second = csv.Number(steps, {0, 1e9}) * size;
    cell.uncertainty = csv.Number(uncertainty, {0, 100}) / 100;
    cell.cores_in_use = csv.Number(cores, {0, 1024});
    cell.pcie = (csv.Number(sent, {0, 1e9}) + csv.Number(received, {0, 1e9})) * kMiB;
    cell.busy = csv.Number(busy, {0, 100}) / 100;
    curves.back().cells.push_back(cell);
  }
  if (!csv.ok()) return csv.error();
  for (CoreCurve& curve : curves) {
    std::vector<measure::CurvePoint> points;
    for (const CoreCell& cell : curve.cells) {
      points.push_back({cell.cpus, cell.samples_per_second, cell.uncertainty});
    }
    const auto knee = measure::FindKnee(points);
    SHAREWELL_CHECK(knee.has_value());
    curve.knee = *knee;
  }
  return curves;
}

}  // namespace

core::Result<std::vector<CoreCurve>> MeasuredCores() {
  auto curves = ReadCurves(platform::EmbeddedH200Cores(), "data/h200/cores.csv");
  RETURN_IF_ERROR(curves);
  SHAREWELL_CHECK(curves->size() == kLabels.size());
  for (std::size_t i = 0; i < kLabels.size(); ++i) {
    SHAREWELL_CHECK((*curves)[i].label == kLabels[i].first);
    (*curves)[i].label = kLabels[i].second;
  }
  return curves;
}

core::Result<std::vector<CoreCurve>> MeasuredInception() {
  auto curves = ReadCurves(platform::EmbeddedH200Inception(), "data/h200/inception.csv");
  RETURN_IF_ERROR(curves);
  for (CoreCurve& curve : *curves) curve.label = "inception3";
  return curves;
}

}  // namespace sharewell::research::reproduce
