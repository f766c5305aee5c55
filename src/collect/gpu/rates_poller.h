// RatesPoller: GPU utilisation as a mean over the whole time between two rounds.
//
// NVML's rates are of the last fraction of a second, so one look a second misses most of it. A
// thread looks ten times a second instead, for the price of 0.1 ms each. (NVML also keeps samples
// of the last 14 s, nvmlDeviceGetSamples; fetching them costs milliseconds, and their means agree.)
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "collect/gpu/nvml/nvml_session.h"

namespace sharewell::collect {

struct GpuRates {
  double gpu = 0, memory = 0;  // 0..1
};

class RatesPoller {
 public:
  // `api` must outlive it.
  explicit RatesPoller(const nvml::Api& api);

  // The GPUs to look at from now on; those that do not answer are left out.
  void Watch(const std::vector<NvmlSeat>& gpus);
  // The mean since the last call; looked up now where there was no look since. None: the GPU does
  // not say.
  std::optional<GpuRates> Take(const NvmlSeat& seat);

 private:
  struct Sum {
    double gpu = 0, memory = 0;
    int looks = 0;
  };

  std::optional<GpuRates> Look(nvml::Device gpu) const;
  void Run(const std::stop_token& stop);

  const nvml::Api& api_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::map<int, nvml::Device> watched_;  // by index; guarded by mutex_
  std::map<int, Sum> sums_;              // by index; guarded by mutex_
  std::jthread thread_;                  // the last: it uses the others
};

}  // namespace sharewell::collect
