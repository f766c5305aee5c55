#include "collect/gpu/rates_poller.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sharewell::collect {
namespace {

// Ten looks a second, but no more than twenty at all GPUs together.
std::chrono::milliseconds PollPeriod(std::size_t gpus) {
  return std::chrono::milliseconds(50) * std::max<std::size_t>(gpus, 2);
}

}  // namespace

RatesPoller::RatesPoller(const nvml::Api& api)
    : api_(api), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

void RatesPoller::Watch(const std::vector<NvmlSeat>& gpus) {
  const platform::MutexLock lock(mutex_);
  watched_.clear();
  for (const NvmlSeat& seat : gpus) {
    if (seat.code == nvml::kSuccess) watched_[seat.index] = seat.handle;
  }
}

std::optional<GpuRates> RatesPoller::Look(nvml::Device gpu) const {
  constexpr double kPercent = 100;
  nvml::Utilization rates{};
  if (api_.Rates == nullptr || api_.Rates(gpu, &rates) != nvml::kSuccess || rates.gpu > kPercent ||
      rates.memory > kPercent) {
    return std::nullopt;
  }
  return GpuRates{rates.gpu / kPercent, rates.memory / kPercent};
}

std::optional<GpuRates> RatesPoller::Take(const NvmlSeat& seat) {
  Sum sum;
  {
    const platform::MutexLock lock(mutex_);
    sum = std::exchange(sums_[seat.index], {});
  }
  if (sum.looks == 0) return Look(seat.handle);
  return GpuRates{sum.gpu / sum.looks, sum.memory / sum.looks};
}

void RatesPoller::Run(const std::stop_token& stop) {
  platform::MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, PollPeriod(watched_.size()), [] { return false; });
    const std::map<int, nvml::Device> watched = watched_;
    lock.unlock();
    std::map<int, GpuRates> seen;
    for (const auto& [index, gpu] : watched) {
      if (const auto rates = Look(gpu)) seen.emplace(index, *rates);
    }
    lock.lock();
    for (const auto& [index, rates] : seen) {
      Sum& sum = sums_[index];
      sum.gpu += rates.gpu;
      sum.memory += rates.memory;
      ++sum.looks;
    }
  }
}

}  // namespace sharewell::collect
