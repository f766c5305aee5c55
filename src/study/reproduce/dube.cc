#include "study/reproduce/dube.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "catalogue/builtin_measurements.h"
#include "core/result.h"
#include "study/reproduce/core_sweep.h"
#include "study/reproduce/experiment.h"

namespace sharewell::study::reproduce {
namespace {

// (a) CPU sets: the same loop on so many cores, with a loader process for each.

struct Told {
  const char* label;
  double paper;
  const char* note;
};

void CoreRows(const std::vector<CoreCurve>& curves, std::vector<ReproduceRow>& rows) {
  const Told kMore[] = {
      {"alexnet", 1.28, "the paper: TensorFlow, 8 to 30 threads; it gains the most there and here"},
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
       "batch 64 to 128, 4 workers: missed. On an H200 the loader bounds it at either batch (GPU "
       "busy 20 %), on the paper's P100 the GPU did"},
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
      "gain_*_cores_*, cores_*: PyTorch on one H200, each loop on a CPU set of 1 to 16 cores with "
      "as many loader processes, as sharewell sweep measured it (data/h200/cores.csv). Theirs: "
      "TensorFlow and Caffe on P100, CPU threads of a pod.",
      "A gain is samples a second over samples a second, one run of 4 s each; the notes say how "
      "much the rates waver. AlexNet's, which waits for its loaders, waver most. What is below 1 "
      "by "
      "less than the two together is noise.",
      "gain_more_workers_*, gain_batch_*: loops of data/h200 (first sitting), all 16 cores free to "
      "each. What waits for the host repeats within about 11 % only, what the GPU bounds within "
      "1 % (data/h200/README.md).",
      "To measure it on a machine of your own: sharewell sweep zoo/cores.toml.",
  };
  const auto curves = MeasuredCores();
  RETURN_IF_ERROR(curves);
  CoreRows(*curves, out.rows);
  const core::Measurements all = catalogue::FirstSitting();
  for (const Gain& gain : Gains()) {
    const core::Profile *from = Measured(all, gain.from), *to = Measured(all, gain.to);
    SHAREWELL_CHECK(from != nullptr && to != nullptr);
    out.rows.push_back({gain.what, gain.paper, SamplesPerSecond(*to) / SamplesPerSecond(*from),
                        "times", gain.note});
  }
  return out;
}

}  // namespace sharewell::study::reproduce
