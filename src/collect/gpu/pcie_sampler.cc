#include "collect/gpu/pcie_sampler.h"

#include <utility>

#include "collect/metrics/gpu_metrics.h"

namespace sharewell::collect {
namespace {

constexpr double kPcieKilobyte = 1024;

}  // namespace

PcieSampler::PcieSampler(const nvml::Api& api)
    : api_(api), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void PcieSampler::Read(const std::vector<NvmlSeat>& gpus, std::vector<core::Reading>& out) {
  {
    const std::lock_guard lock(mutex_);
    out.insert(out.end(), measured_.begin(), measured_.end());
    measured_.clear();
    wanted_ = gpus;
  }
  wake_.notify_one();
}

void PcieSampler::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !wanted_.empty(); })) {
    const std::vector<NvmlSeat> gpus = std::exchange(wanted_, {});
    lock.unlock();
    std::vector<core::Reading> found;
    for (const NvmlSeat& seat : gpus) {
      unsigned kilobytes = 0;
      for (const auto way : {nvml::kReceived, nvml::kSent}) {
        if (stop.stop_requested()) return;
        if (api_.PcieKilobytes(seat.handle, way, &kilobytes) != nvml::kSuccess) continue;
        found.push_back({way == nvml::kReceived ? &kGpuPcieReceived : &kGpuPcieSent,
                         seat.instance,
                         {},
                         kilobytes * kPcieKilobyte});
      }
    }
    lock.lock();
    measured_ = std::move(found);
  }
}

}  // namespace sharewell::collect
