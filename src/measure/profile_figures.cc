#include "measure/profile_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "collect/metrics/gpu_metrics.h"
#include "collect/metrics/host_metrics.h"

namespace sharewell::measure {
namespace {

using core::Metric;

constexpr double kGpuBound = 0.95;    // busy for so much of the time
constexpr double kCoresBound = 0.92;  // of the cores that it may use
constexpr double kCrowded = 0.97;     // of all CPUs, whoever uses them
constexpr double kTries = 0.5;        // cores that a job which waits for a CPU still gets
constexpr double kOneCore = 0.9;      // and no more than 1 / kOneCore
constexpr double kMemoryStall = 0.1;  // of the time some task waits
constexpr double kDiskBusy = 0.85;
constexpr double kDiskStall = 0.1;

// The mean over the GPUs of one figure's mean; absent when one of them does not have it.
std::optional<double> OverGpus(const JobView& view, const Metric& metric, const std::string& job) {
  double sum = 0;
  for (const std::string& gpu : view.gpus) {
    const auto figure = view.series->FigureOf(metric, gpu, job, view.window);
    if (!figure) return std::nullopt;
    sum += figure->mean;
  }
  if (view.gpus.empty()) return std::nullopt;
  return sum / static_cast<double>(view.gpus.size());
}

std::optional<double> Device(const JobView& view, const Metric& metric) {
  return view.alone ? OverGpus(view, metric, "") : std::nullopt;
}

std::optional<double> Sum(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a + *b;
}

std::optional<double> MeanInWindow(const JobView& view, const Metric& metric,
                                   const std::string& job) {
  const auto figure = view.series->FigureOf(metric, "", job, view.window);
  return figure ? std::optional(figure->mean) : std::nullopt;
}

std::optional<double> PeakOf(const JobView& view, const Metric& metric, const std::string& job) {
  const auto figure = view.series->FigureOf(metric, "", job, view.life);
  return figure ? std::optional(figure->most) : std::nullopt;
}

template <class T>
std::optional<T> As(std::optional<double> value) {
  return value ? std::optional<T>(T(*value)) : std::nullopt;
}

// In the steady window: cuDNN's search for algorithms takes what is free before it, for a moment,
// and is no need.
std::optional<core::Bytes> GpuMemory(const JobView& view) {
  std::optional<double> most;
  const auto figure = [&](const Metric& metric, const std::string& gpu, const std::string& job) {
    const auto steady = view.series->FigureOf(metric, gpu, job, view.window);
    return steady ? steady : view.series->FigureOf(metric, gpu, job, view.life);
  };
  for (const std::string& gpu : view.gpus) {
    if (const auto own = figure(collect::kJobGpuMemory, gpu, view.job)) {
      most = std::max(most.value_or(0), own->most);
      continue;
    }
    // No processes named: what the GPU holds now and did not before.
    const auto used = view.series->FigureOf(collect::kGpuMemoryUsed, gpu, "", view.life);
    if (view.alone && used && used->readings > 1) {
      const double held = figure(collect::kGpuMemoryUsed, gpu, "")->most;
      most = std::max(most.value_or(0), held - used->least);
    }
  }
  return As<core::Bytes>(most);
}

std::string Share(double ratio) { return fmt::format("{:.0f} %", 100 * ratio); }

struct Disk {
  std::string name;
  double busy = 0;
};

std::optional<Disk> BusiestDisk(const JobView& view) {
  std::optional<Disk> busiest;
  for (const std::string& disk : view.series->Instances(collect::kDiskBusySeconds, "")) {
    const auto busy = view.series->FigureOf(collect::kDiskBusySeconds, disk, "", view.window);
    if (busy && (!busiest || busy->mean > busiest->busy)) busiest = Disk{disk, busy->mean};
  }
  return busiest;
}

std::string GpuEvidence(const core::Profile& profile) {
  std::string text = fmt::format("busy {} of the time", Share(*profile.busy));
  if (profile.sm) text += fmt::format(", SM {}", Share(*profile.sm));
  if (profile.dram) text += fmt::format(", DRAM {}", Share(*profile.dram));
  return text;
}

std::string CoresEvidence(const JobView& view, double cores) {
  return view.cpus > 0 ? fmt::format("{:.2f} of {} cores busy", cores, view.cpus)
                       : fmt::format("{:.2f} cores busy", cores);
}

}  // namespace

std::vector<std::string> GpusOf(const ProfileSeries& series, const std::string& job) {
  auto own = series.Instances(collect::kJobGpuMemory, job);
  if (!own.empty()) return own;
  auto all = series.Instances(collect::kGpuBusy, "");
  return all.size() == 1 ? all : std::vector<std::string>();
}

core::Profile MeasuredProfile(const JobView& view) {
  core::Profile profile;
  profile.busy = Device(view, collect::kGpuBusy);
  if (!view.alone) profile.busy = OverGpus(view, collect::kJobGpuSm, view.job);
  profile.sm = Device(view, collect::kGpuSm);
  profile.dram = Device(view, collect::kGpuDram);
  profile.gpu_memory = GpuMemory(view);
  auto pcie =
      Sum(Device(view, collect::kGpuGpmPcieReceived), Device(view, collect::kGpuGpmPcieSent));
  if (!pcie)
    pcie = Sum(Device(view, collect::kGpuPcieReceived), Device(view, collect::kGpuPcieSent));
  profile.pcie = As<core::BytesPerSecond>(pcie);
  profile.cpu_cores = MeanInWindow(view, collect::kJobCpuSeconds, view.job);
  if (!profile.cpu_cores) profile.cpu_cores = MeanInWindow(view, collect::kJobCores, view.job);
  const auto resident = PeakOf(view, collect::kJobResidentBytes, view.job);
  if (resident) profile.host_memory = core::Bytes(*resident * view.unshared);
  // Energy over time is exact; the power figure is what the board averages by itself.
  auto power = Device(view, collect::kGpuEnergy);
  if (!power) power = Device(view, collect::kGpuPower);
  profile.power = As<core::Watts>(power);
  return profile;
}

std::string BoundBy(const JobView& view, const core::Profile& profile) {
  if (profile.busy && *profile.busy >= kGpuBound) {
    const bool memory = profile.dram && profile.sm && *profile.dram > *profile.sm;
    return fmt::format("{}: {}", memory ? "gpu memory bandwidth" : "gpu", GpuEvidence(profile));
  }
  const auto waiting = MeanInWindow(view, collect::kPressureMemoryWaitingSeconds, "");
  if (waiting && *waiting >= kMemoryStall) {
    return fmt::format("host memory: some task waited for memory {} of the time", Share(*waiting));
  }
  const auto cores = profile.cpu_cores;
  if (cores && view.cpus > 1 && *cores >= kCoresBound * static_cast<double>(view.cpus)) {
    return fmt::format("cpu cores: {}", CoresEvidence(view, *cores));
  }
  const auto machine = MeanInWindow(view, collect::kCpuBusyRatio, "");
  if (cores && *cores >= kTries && machine && *machine >= kCrowded) {
    return fmt::format("cpu cores: all CPUs of the machine {} busy, {:.2f} cores by the job",
                       Share(*machine), *cores);
  }
  const auto disk = BusiestDisk(view);
  const auto stalled = MeanInWindow(view, collect::kPressureIoWaitingSeconds, "");
  if (disk && disk->busy >= kDiskBusy && stalled.value_or(1) >= kDiskStall) {
    return fmt::format("disk: {} busy {} of the time", disk->name, Share(disk->busy));
  }
  if (cores && *cores >= kOneCore && *cores <= 1 / kOneCore) {
    const std::string gpu =
        profile.busy ? fmt::format(" while the GPU idles {} of the time", Share(1 - *profile.busy))
                     : "";
    return fmt::format("one core: {}{}", CoresEvidence(view, *cores), gpu);
  }
  std::vector<std::string> evidence;
  if (profile.busy) evidence.push_back("GPU " + GpuEvidence(profile));
  if (cores) evidence.push_back(CoresEvidence(view, *cores));
  if (disk) evidence.push_back(fmt::format("disk {} busy {}", disk->name, Share(disk->busy)));
  return evidence.empty() ? "" : fmt::format("unknown: {}", fmt::join(evidence, ", "));
}

std::vector<std::string> Vanished(const JobView& view) {
  // The middle of the life is early enough to tell an end from a job that was just stopped.
  std::vector<std::string> notes;
  const core::Seconds half = view.life.from + view.life.length() / 2;
  const auto gone = [&](const Metric& metric, const std::string& instance) {
    return view.series->FigureOf(metric, instance, "", {view.life.from, half}) &&
           !view.series->FigureOf(metric, instance, "", {half, view.life.to});
  };
  for (const std::string& gpu : view.series->Instances(collect::kGpuMemoryUsed, "")) {
    if (gone(collect::kGpuMemoryUsed, gpu)) {
      notes.push_back(fmt::format("GPU {} answered no more in the second half of the run", gpu));
    }
  }
  return notes;
}

}  // namespace sharewell::measure
