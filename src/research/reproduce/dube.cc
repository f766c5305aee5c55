#include "research/reproduce/dube.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "core/result.h"
#include "research/reproduce/core_sweep.h"
#include "research/reproduce/experiment.h"

namespace sharewell::research::reproduce {
namespace {

// (a) CPU sets: the same loop on so many cores, with a loader process for each.

struct Told {
  const char* label;
  double paper;
  const char* note;
};

void CoreRows(const std::vector<CoreCurve>& curves, std::vector<ReproduceRow>& rows) {
  const Told kMore[] = {
      {"alexnet", 1.28,
       "the paper: TensorFlow, 8 to 30 threads; it gains the most there, and here of the "
       "four that were measured together"},
      {"vgg16", 1.03, "the paper: 8 to 30 threads; it gains the least there"},
  };
  const auto gain = [&](const CoreCurve& curve, double from, double to) {
    const CoreCell &a = curve.At(from), &b = curve.At(to);
    ReproduceRow row{
        fmt::format("gain_{:g}_to_{:g}_cores_{}", from, to, curve.label),
        {},
        b.samples_per_second / a.samples_per_second,
        "times",
        fmt::format("rates ± {:.0f} % and ± {:.0f} %", a.uncertainty * 100, b.uncertainty * 100)};
    if (from < 8) return row;
    for (const Told& told : kMore) {
      if (told.label != curve.label) continue;
      row.paper = told.paper;
      row.note += fmt::format("; {}", told.note);
    }
    return row;
  };
  for (const CoreCurve& curve : curves) rows.push_back(gain(curve, 8, 16));
  for (const CoreCurve& curve : curves) rows.push_back(gain(curve, 1, 4));
  for (const CoreCurve& curve : curves) {
    if (curve.label != "vgg16") continue;
    rows.push_back({"cores_saturated_vgg16", 4.0, curve.knee.at, "cores",
                    "the fewest that keep 97 % of its best; the paper: Caffe's vgg16 is saturated "
                    "at 4 threads on one GPU"});
  }
  for (const CoreCurve& curve : curves) {
    rows.push_back({"cores_in_use_" + curve.label,
                    {},
                    curve.At(16).cores_in_use,
                    "cores",
                    "of the 16 it may use"});
  }
}

std::string RateCell(const CoreCell& cell) {
  return fmt::format("{:.0f} ± {:.0f} %", cell.samples_per_second, 100 * cell.uncertainty);
}

constexpr double kCpuSets[] = {1, 2, 4, 8, 16};

// Figures 1 and 2: models by cores.
void ModelGrids(const std::vector<CoreCurve>& curves, const CoreCurve& inception, Experiment& out) {
  PaperGrid one{"Figure 1",
                "VGG16, samples a second: ours in PyTorch at batch 64, on one GPU; the paper's "
                "Caffe is saturated at 4 threads on one GPU and at 8 on two",
                {"cores", "samples/s", "of the best", "GPU busy"},
                {}};
  PaperGrid two{"Figure 2",
                "samples a second by cores (as many loader processes), ± half the 95 % interval; "
                "the paper's gains are from 8 to 30 CPU threads at batch 64",
                {"", "1", "2", "4", "8", "16", "gain 8 to 16, ours", "gain 8 to 30, theirs"},
                {}};
  const auto row = [&](const CoreCurve& curve, const std::string& theirs) {
    std::vector<std::string> cells{fmt::format("{}, batch {}", curve.label, curve.batch)};
    for (const double cpus : kCpuSets) cells.push_back(RateCell(curve.At(cpus)));
    cells.push_back(
        fmt::format("{:.2f}", curve.At(16).samples_per_second / curve.At(8).samples_per_second));
    cells.push_back(theirs);
    two.rows.push_back(std::move(cells));
  };
  for (const CoreCurve& curve : curves) {
    row(curve, curve.label == "alexnet"    ? "1.28, the most"
               : curve.label == "vgg16"    ? "1.03, the least"
               : curve.label == "resnet50" ? "drawn only"
                                           : "not in the paper");
    if (curve.label != "vgg16") continue;
    const double best = curve.At(16).samples_per_second;
    for (const double cpus : kCpuSets) {
      const CoreCell& cell = curve.At(cpus);
      one.rows.push_back({fmt::format("{:g}", cpus), RateCell(cell),
                          fmt::format("{:.0f} %", 100 * cell.samples_per_second / best),
                          fmt::format("{:.0f} %", 100 * cell.busy)});
    }
  }
  row(inception, "drawn only");
  out.grids.push_back(std::move(one));
  out.grids.push_back(std::move(two));
}

// Figure 3: cores by batch, of Inception v3.
void BatchGrid(const std::vector<CoreCurve>& inception, Experiment& out) {
  PaperGrid grid{"Figure 3",
                 "Inception v3, samples a second by cores and batch; the paper: 1.05 from batch 64 "
                 "to 128 at 30 threads",
                 {"cores"},
                 {}};
  const CoreCurve *from = nullptr, *to = nullptr;
  for (const CoreCurve& curve : inception) {
    grid.columns.push_back(fmt::format("batch {}", curve.batch));
    if (curve.batch == 64) from = &curve;
    if (curve.batch == 128) to = &curve;
  }
  SHAREWELL_CHECK(from != nullptr && to != nullptr);
  grid.columns.emplace_back("gain 64 to 128");
  for (const double cpus : kCpuSets) {
    std::vector<std::string> cells{fmt::format("{:g}", cpus)};
    for (const CoreCurve& curve : inception) cells.push_back(RateCell(curve.At(cpus)));
    const CoreCell &a = from->At(cpus), &b = to->At(cpus);
    const double gain = b.samples_per_second / a.samples_per_second;
    cells.push_back(fmt::format("{:.2f}", gain));
    grid.rows.push_back(std::move(cells));
    ReproduceRow row{fmt::format("gain_batch_inception3_{:g}_cores", cpus),
                     {},
                     gain,
                     "times",
                     fmt::format("batch 64 to 128; rates ± {:.0f} % and ± {:.0f} %",
                                 100 * a.uncertainty, 100 * b.uncertainty)};
    if (cpus == 16) {
      row.paper = 1.05;
      row.note += "; the paper: 30 threads";
    }
    out.rows.push_back(std::move(row));
  }
  out.grids.push_back(std::move(grid));
}

// (b) Loader processes and batches, all 16 cores free to each: the first sitting's loops.

double SamplesPerSecond(const core::Profile& p) { return p.workload.batch * *p.steps_per_second; }

struct Gain {
  const char* what;
  std::optional<double> paper;
  core::Workload from, to;
  const char* note;
};

core::Workload Net(const char* name, int batch, int workers, const char* precision = "bf16") {
  return {name, batch, precision, workers};
}

std::vector<Gain> Gains() {
  return {
      {"gain_more_workers_alexnet", 1.28, Net("tv:alexnet@224", 128, 4),
       Net("tv:alexnet@224", 128, 8), "4 to 8 loader workers; the paper: 8 to 30 CPU threads"},
      {"gain_more_workers_resnet50",
       {},
       Net("tv:resnet50@224", 64, 4),
       Net("tv:resnet50@224", 64, 8),
       "4 to 8 loader workers; the paper draws it and does not tell it"},
      {"gain_more_workers_vgg16", 1.03, Net("tv:vgg16@224", 64, 2), Net("tv:vgg16@224", 64, 4),
       "2 to 4 loader workers; the paper: 8 to 30 threads"},
      {"gain_batch_alexnet", 1.2, Net("tv:alexnet@224", 64, 4), Net("tv:alexnet@224", 128, 4),
       "batch 64 to 128, 4 workers: missed; the loader bounds it at either batch"},
      {"gain_batch_vgg16",
       {},
       Net("tv:vgg16@224", 64, 4),
       Net("tv:vgg16@224", 128, 4),
       "batch 64 to 128, bound by the GPU; the paper tells inception3's 1.05"},
      {"gain_batch_resnet50",
       {},
       Net("tv:resnet50@224", 32, 4, "fp32"),
       Net("tv:resnet50@224", 64, 4, "fp32"),
       "batch 32 to 64, fp32, bound by the GPU"},
  };
}

}  // namespace

core::Result<Experiment> Dube(const ReproduceOptions&) {
  Experiment out;
  out.title = "what more CPUs and a larger batch are worth";
  out.assumptions = {
      std::string(
          "gain_*_cores_*, cores_*: PyTorch on one H200, each loop on a CPU set of 1 to 16 cores "
          "with as many loader processes, as sharewell sweep measured it (data/h200/cores.csv). "
          "Theirs: TensorFlow and Caffe on P100, CPU threads of a pod."),
      std::string("A gain is samples a second over samples a second, one run of 4 s each; the "
                  "notes say how much the rates waver. AlexNet's, which waits for its loaders, "
                  "waver most. What is below 1 by less than the two together is noise."),
      std::string("gain_more_workers_*, gain_batch_*: loops of data/h200 (first sitting), all 16 "
                  "cores free to each. What waits for the host repeats within about 11 % only, "
                  "what the GPU bounds within 1 % (data/h200/README.md)."),
      std::string("gain_batch_inception3_*: Inception v3 in the same way over cores and batches "
                  "(data/h200/inception.csv). At batch 64 the GPU is not full on any number of "
                  "cores: the loop waits for the host, and a larger batch gains what the paper's "
                  "P100 presumably had not left."),
      std::string("To measure it on a machine of your own: sharewell sweep zoo/cores.toml, "
                  "sharewell sweep zoo/inception.toml."),
  };
  const auto curves = MeasuredCores();
  RETURN_IF_ERROR(curves);
  const auto inception = MeasuredInception();
  RETURN_IF_ERROR(inception);
  CoreRows(*curves, out.rows);
  for (const CoreCurve& curve : *inception) {
    if (curve.batch == 64) ModelGrids(*curves, curve, out);
  }
  BatchGrid(*inception, out);
  const core::Measurements all = catalogue::FirstSitting();
  for (const Gain& gain : Gains()) {
    const core::Profile *from = Measured(all, gain.from), *to = Measured(all, gain.to);
    SHAREWELL_CHECK(from != nullptr && to != nullptr);
    out.rows.push_back({gain.what, gain.paper, SamplesPerSecond(*to) / SamplesPerSecond(*from),
                        "times", gain.note});
  }
  return out;
}

}  // namespace sharewell::research::reproduce
