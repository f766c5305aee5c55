#include "research/reproduce/takayama_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "catalogue/builtin_measurements.h"
#include "catalogue/gpu_catalogue.h"
#include "interference/carry_over.h"
#include "research/reproduce/experiment.h"

namespace sharewell::research::reproduce {
namespace {

// A loop of ours for each of the paper's benchmarks; null: none is inside the program yet.
struct OurLoop {
  const char* workload;
  int batch;
  const char* precision;
  int workers;
  const char* stands_for;
};
constexpr std::array<OurLoop, 9> kOurLoops{{
    {"tv:resnet50@224", 64, "bf16", 4, "ResNet-50"},
    {"det:resnet18@256", 16, "bf16", 4, "a detector of one stage"},
    {nullptr, 0, "", 0, "Mask R-CNN"},
    {"ncf:1e6", 4096, "fp32", 4, "neural collaborative filtering"},
    {"bilstm:256x2", 32, "fp32", 1, "a text classifier"},
    {nullptr, 0, "", 0, "a recurrent translator"},
    {"bart:512x4@64", 16, "bf16", 1, "encoder and decoder of transformers"},
    {"ds2:512x3@300", 16, "bf16", 2, "DeepSpeech 2"},
    {"dqn:atari", 128, "fp32", 4, "learning from played games"},
}};

std::string InPercent(double ratio) { return fmt::format("{:.1f}", ratio * 100); }

PaperGrid Utilisation(const core::Measurements& all) {
  PaperGrid grid{"Table VI",
                 "mean utilisation in %: theirs on a V100, CPU per socket of 20 cores; ours on an "
                 "H200 with 16 cores and 126 GiB",
                 {"", "CPU, theirs", "CPU, ours", "GPU, theirs", "GPU, ours", "GPU/CPU, theirs",
                  "GPU/CPU, ours", "host memory, ours", "GPU memory, ours", "ours is of"},
                 {}};
  for (std::size_t i = 0; i < kTakayamaTypes.size(); ++i) {
    const TakayamaType& type = kTakayamaTypes[i];
    const OurLoop& loop = kOurLoops[i];
    std::vector<std::string> row{type.name, InPercent(type.cpu),
                                 "-",       InPercent(type.busy),
                                 "-",       fmt::format("{:.1f}", type.busy / type.cpu)};
    if (loop.workload == nullptr) {
      row.insert(row.end(),
                 {"-", "-", "-", fmt::format("not in this table yet: {}", loop.stands_for)});
    } else {
      const core::Profile* p =
          Measured(all, {loop.workload, loop.batch, loop.precision, loop.workers});
      SHAREWELL_CHECK(p != nullptr && p->busy && p->cpu_cores && p->host_memory && p->gpu_memory);
      const double cpu = *p->cpu_cores / kH200HostCores;
      row[2] = InPercent(cpu);
      row[4] = InPercent(*p->busy);
      row.push_back(fmt::format("{:.1f}", *p->busy / cpu));
      row.push_back(InPercent(p->host_memory->value / kH200HostBytes));
      row.push_back(InPercent(p->gpu_memory->value / kH200GpuBytes));
      row.push_back(
          fmt::format("`{}` at batch {}: {}", loop.workload, loop.batch, loop.stands_for));
    }
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

PaperGrid Specifications(const core::GpuModel& p100, const core::GpuModel& v100) {
  PaperGrid grid{"Table VIII",
                 "the GPUs in the paper and in our catalogue (SXM2 boards)",
                 {"", "P100, theirs", "P100, ours", "V100, theirs", "V100, ours"},
                 {}};
  const auto row = [&](const char* what, const char* theirs_p, std::string ours_p,
                       const char* theirs_v, std::string ours_v) {
    grid.rows.push_back({what, theirs_p, std::move(ours_p), theirs_v, std::move(ours_v)});
  };
  const auto or_dash = [](const std::optional<double>& x) {
    return x ? fmt::format("{:g}", *x) : std::string("-");
  };
  row("cores (ours: SMs)", "3584", fmt::format("{} SMs", p100.sms), "5120",
      fmt::format("{} SMs", v100.sms));
  row("MHz", "1300", "-", "1455", "-");
  row("FP16, TFLOPS", "18.636", or_dash(p100.fp16_tflops), "119.19", or_dash(v100.fp16_tflops));
  row("FP32, TFLOPS", "9.318", fmt::format("{:g}", p100.fp32_tflops), "14.90",
      fmt::format("{:g}", v100.fp32_tflops));
  row("FP64, TFLOPS", "4.659", "-", "7.45", "-");
  row("memory bandwidth, GB/s", "720", fmt::format("{:g}", p100.bandwidth.value / 1e9), "900",
      fmt::format("{:g}", v100.bandwidth.value / 1e9));
  return grid;
}

void Stretching(const core::GpuModel& p100, const core::GpuModel& v100, Experiment& out) {
  PaperGrid grid{"Table IX",
                 "job time, and that on a V100 over that on a P100; ours is computed from the "
                 "paper's GPU utilisation alone",
                 {"", "GPU busy, %", "P100", "V100", "V100 / P100", "ours", "by Amdahl's law"},
                 {}};
  const double stretch =
      std::sqrt(v100.bandwidth / p100.bandwidth * v100.fp32_tflops / p100.fp32_tflops);
  double error = 0, amdahl_error = 0;
  for (const TakayamaType& type : kTakayamaTypes) {
    core::Profile profile;
    profile.busy = type.busy;
    const double ours = interference::CarryOver(interference::DemandOf(profile), v100, p100).rate;
    const double amdahl = 1 / (type.busy * stretch + 1 - type.busy);
    const double theirs = type.v100 / type.p100;
    error += std::abs(ours - theirs) / kTakayamaTypes.size();
    amdahl_error += std::abs(amdahl - theirs) / kTakayamaTypes.size();
    grid.rows.push_back({type.name, InPercent(type.busy), ClockTime(type.p100),
                         ClockTime(type.v100), fmt::format("{:.2f}", theirs),
                         fmt::format("{:.2f}", ours), fmt::format("{:.2f}", amdahl)});
    out.rows.push_back({fmt::format("v100_over_p100_{}", type.name), theirs, ours, "times",
                        "time on a V100 over that on a P100, from the GPU utilisation alone"});
  }
  out.rows.push_back({"v100_over_p100_error", {}, error, "ratio", "mean of the nine, absolute"});
  out.rows.push_back({"v100_over_p100_error_amdahl",
                      {},
                      amdahl_error,
                      "ratio",
                      "the same by Amdahl's law and the geometric mean of arithmetic and "
                      "bandwidth, as it was stretched before"});
  out.grids.push_back(std::move(grid));
}

}  // namespace

core::Result<void> TakayamaTables(Experiment& experiment) {
  const auto catalogue = catalogue::GpuCatalogue::Builtin();
  const auto p100 = catalogue.Find("P100"), v100 = catalogue.Find("V100-16GB");
  RETURN_IF_ERROR(p100);
  RETURN_IF_ERROR(v100);
  experiment.grids.push_back(Utilisation(catalogue::BuiltinMeasurements()));
  experiment.grids.push_back(Specifications(*p100, *v100));
  Stretching(*p100, *v100, experiment);
  return {};
}

}  // namespace sharewell::research::reproduce
