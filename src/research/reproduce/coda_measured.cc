#include "research/reproduce/coda_measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "research/reproduce/experiment.h"

namespace sharewell::research::reproduce {
namespace {

// What the paper's text says of a model's bandwidths.
struct Said {
  const char* label;
  const char* pcie;
};
constexpr Said kSaid[] = {
    {"alexnet", "1N2G: 8 GB/s on average, 12 GB/s at most"},
    {"resnet50", "1N2G: 8 GB/s on average, 12 GB/s at most"},
    {"transformer", "less than 1 GB/s"},
};

std::string SaidOf(const std::string& label) {
  for (const Said& said : kSaid) {
    if (said.label == label) return said.pcie;
  }
  return "small";
}

PaperGrid CoresGrid(const std::vector<CoreCurve>& curves) {
  PaperGrid grid{"Figure 4",
                 "the fewest of 1, 2, 4, 8 and 16 cores that keep 97 % of the best throughput on "
                 "one GPU; the paper draws its own",
                 {"", "batch", "cores needed", "of the plateau", "cores it keeps busy"},
                 {}};
  for (const CoreCurve& curve : curves) {
    const CoreCell& cell = curve.At(curve.knee.at);
    grid.rows.push_back({curve.label, fmt::format("{}", curve.batch),
                         fmt::format("{:g}", curve.knee.at),
                         fmt::format("{:.1f} %", 100 * curve.knee.share),
                         fmt::format("{:.1f}", cell.cores_in_use)});
  }
  return grid;
}

std::vector<std::string> BandwidthRow(const std::string& label, int batch, const std::string& cores,
                                      double pcie, const std::string& said) {
  return {label,
          fmt::format("{}", batch),
          cores,
          fmt::format("{:.2f}", pcie / 1e9),
          fmt::format("{:.1f}", 2 * pcie / 1e9),
          said};
}

// Speech, which the sweeps do not have: from the profiles.
struct SpeechLoop {
  const char* label;
  core::Workload workload;
};

core::Result<void> BandwidthDemand(const std::vector<CoreCurve>& curves, Experiment& out) {
  PaperGrid grid{
      "Figure 5",
      "traffic in GB/s on one GPU at the cores needed. Host memory: each byte of PCIe written once "
      "and read once. The paper draws at most about 30 GB/s, with several GPUs",
      {"", "batch", "cores", "PCIe", "host memory, at least", "PCIe, theirs"},
      {}};
  const auto add = [&](const std::string& what, double pcie, const std::string& note) {
    out.rows.push_back({what, {}, pcie / 1e9, "GB/s", note});
  };
  for (const CoreCurve& curve : curves) {
    const CoreCell& cell = curve.At(curve.knee.at);
    const std::string said = SaidOf(curve.label);
    grid.rows.push_back(
        BandwidthRow(curve.label, curve.batch, fmt::format("{:g}", cell.cpus), cell.pcie, said));
    add(fmt::format("pcie_{}_batch_{}", curve.label, curve.batch), cell.pcie,
        fmt::format("both ways, on {:g} cores; the paper: {}", cell.cpus, said));
  }
  const core::Measurements all = catalogue::BuiltinMeasurements();
  for (const SpeechLoop& speech : {SpeechLoop{"deepspeech", {"ds2:512x3@300", 16, "bf16", 2}},
                                   SpeechLoop{"wav2vec2", {"wav2vec2:32000", 8, "bf16", 2}}}) {
    const core::Profile* profile = Measured(all, speech.workload);
    SHAREWELL_CHECK(profile != nullptr && profile->pcie);
    const std::string said = "less than 1 GB/s";
    grid.rows.push_back(
        BandwidthRow(speech.label, speech.workload.batch, "all 16", profile->pcie->value, said));
    add(fmt::format("pcie_{}_batch_{}", speech.label, speech.workload.batch), profile->pcie->value,
        fmt::format("both ways, all 16 cores free to it; the paper's speech models: {}", said));
  }
  out.grids.push_back(std::move(grid));
  return {};
}

// Cores that loops keep busy at several batches, with the same loaders and all 16 cores free.
struct Batches {
  const char* label;
  core::Workload workload;  // without its batch
  std::vector<int> batches;
};

void BatchRows(Experiment& out) {
  const core::Measurements all = catalogue::FirstSitting();
  for (const Batches& loop : {Batches{"alexnet", {"tv:alexnet@224", 0, "bf16", 4}, {64, 128, 256}},
                              Batches{"vgg16", {"tv:vgg16@224", 0, "bf16", 4}, {64, 128}},
                              Batches{"transformer", {"enc:512x6", 0, "bf16", 1}, {16, 32, 64}},
                              Batches{"wav2vec2", {"wav2vec2:32000", 0, "bf16", 2}, {4, 8, 16}}}) {
    for (const int batch : loop.batches) {
      core::Workload workload = loop.workload;
      workload.batch = batch;
      const core::Profile* profile = Measured(all, workload);
      SHAREWELL_CHECK(profile != nullptr && profile->cpu_cores);
      out.rows.push_back({fmt::format("cores_in_use_{}_batch_{}", loop.label, batch),
                          {},
                          *profile->cpu_cores,
                          "cores",
                          fmt::format("all 16 free to it, {} loader process{}: does it depend on "
                                      "the batch?",
                                      workload.workers, workload.workers == 1 ? "" : "es")});
    }
  }
}

}  // namespace

ReproduceRow CoresNeeded(const CoreCurve& curve) {
  const CoreCell& needed = curve.At(curve.knee.at);
  const auto index = static_cast<std::size_t>(&needed - curve.cells.data());
  std::string fewer = "no fewer were tried";
  if (index > 0) {
    const CoreCell& cell = curve.cells[index - 1];
    const double best = *std::max_element(curve.knee.fitted.begin(), curve.knee.fitted.end());
    fewer = fmt::format("{:g} core{} keep{} {:.2f} %, ± {:.1f} %", cell.cpus,
                        cell.cpus == 1 ? "" : "s", cell.cpus == 1 ? "s" : "",
                        100 * curve.knee.fitted[index - 1] / best, 100 * cell.uncertainty);
  }
  return {"cores_needed_" + curve.label,
          {},
          curve.knee.at,
          "cores",
          fmt::format("keeps {:.2f} %; {}; of {:g} it uses {:.2f}", 100 * curve.knee.share, fewer,
                      needed.cpus, needed.cores_in_use)};
}

core::Result<void> CodaMeasured(Experiment& experiment) {
  auto curves = MeasuredCores();
  RETURN_IF_ERROR(curves);
  for (const CoreCurve& curve : *curves) experiment.rows.push_back(CoresNeeded(curve));
  auto inception = MeasuredInception();
  RETURN_IF_ERROR(inception);
  for (CoreCurve curve : *inception) {
    curve.label = fmt::format("inception3_batch_{}", curve.batch);
    experiment.rows.push_back(CoresNeeded(curve));
  }
  curves->insert(curves->end(), inception->begin(), inception->end());
  experiment.grids.push_back(CoresGrid(*curves));
  BatchRows(experiment);
  return BandwidthDemand(*curves, experiment);
}

}  // namespace sharewell::research::reproduce
