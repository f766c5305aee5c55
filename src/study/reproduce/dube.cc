#include "study/reproduce/dube.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "platform/files/builtin_measurements.h"
#include "study/reproduce/experiment.h"

namespace sharewell::study::reproduce {
namespace {

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
      {"gain_more_cpus_alexnet", 1.28, Net("tv:alexnet@224", 128, 4), Net("tv:alexnet@224", 128, 8),
       "4 to 8 loader workers; the paper: TensorFlow, 8 to 30 CPU threads. It gains the most there "
       "and here"},
      {"gain_more_cpus_resnet50",
       {},
       Net("tv:resnet50@224", 64, 4),
       Net("tv:resnet50@224", 64, 8),
       "4 to 8 loader workers; the paper draws it and does not tell it"},
      {"gain_more_cpus_vgg16", 1.03, Net("tv:vgg16@224", 64, 2), Net("tv:vgg16@224", 64, 4),
       "2 to 4 loader workers; the paper: 8 to 30 threads. It gains the least there and here"},
      {"gain_first_cpus_alexnet",
       {},
       Net("tv:alexnet@224", 128, 1),
       Net("tv:alexnet@224", 128, 4),
       "1 to 4 loader workers"},
      {"gain_first_cpus_resnet50",
       {},
       Net("tv:resnet50@224", 64, 1),
       Net("tv:resnet50@224", 64, 4),
       "1 to 4 loader workers"},
      {"gain_first_cpus_vgg16",
       {},
       Net("tv:vgg16@224", 64, 1),
       Net("tv:vgg16@224", 64, 4),
       "1 to 4 loader workers"},
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
      "Ours: PyTorch on one H200 with 16 cores, training loops of data/h200 (first sitting); CPUs "
      "are counted as loader processes, which the cores in use follow. Theirs: TensorFlow and "
      "Caffe "
      "on P100, CPU threads of a pod.",
      "A gain is samples a second over samples a second. One run each: what waits for the host "
      "repeats within about 11 % only, what the GPU bounds within 1 % (data/h200/README.md).",
      "To measure it with CPU sets on a machine of your own: sharewell sweep zoo/cores.toml.",
  };
  const core::Measurements all = platform::FirstSitting();
  for (const Gain& gain : Gains()) {
    const core::Profile *from = Measured(all, gain.from), *to = Measured(all, gain.to);
    SHAREWELL_CHECK(from != nullptr && to != nullptr);
    out.rows.push_back({gain.what, gain.paper, SamplesPerSecond(*to) / SamplesPerSecond(*from),
                        "times", gain.note});
  }
  const struct {
    const char* what;
    core::Workload workload;
    std::optional<double> paper;
    const char* note;
  } kCores[] = {
      {"cores_in_use_alexnet", Net("tv:alexnet@224", 128, 8), {}, "at its fastest"},
      {"cores_in_use_resnet50", Net("tv:resnet50@224", 64, 8), {}, "at its fastest"},
      {"cores_in_use_vgg16", Net("tv:vgg16@224", 64, 4), 4.0,
       "at its fastest; the paper: Caffe's vgg16 is saturated at 4 threads on one GPU"},
  };
  for (const auto& row : kCores) {
    const core::Profile* profile = Measured(all, row.workload);
    SHAREWELL_CHECK(profile != nullptr);
    out.rows.push_back({row.what, row.paper, profile->cpu_cores, "cores", row.note});
  }
  return out;
}

}  // namespace sharewell::study::reproduce
