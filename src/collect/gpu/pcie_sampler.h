// PcieSampler: PCIe traffic of GPUs without GPM.
//
// NVML measures it by waiting 20 ms for each GPU and direction, so a thread of its own asks, once
// for each time it is told to, and the round after gets what it found.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "collect/gpu/nvml/nvml_session.h"
#include "core/metric.h"

namespace sharewell::collect {

class PcieSampler {
 public:
  // `api` must outlive it.
  explicit PcieSampler(const nvml::Api& api);

  // Appends what was measured since the last call, and has these measured next.
  void Read(const std::vector<NvmlSeat>& gpus, std::vector<core::Reading>& out);

 private:
  void Run(const std::stop_token& stop);

  const nvml::Api& api_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<NvmlSeat> wanted_;         // guarded by mutex_
  std::vector<core::Reading> measured_;  // guarded by mutex_
  std::jthread thread_;                  // the last: it uses the others
};

}  // namespace sharewell::collect
