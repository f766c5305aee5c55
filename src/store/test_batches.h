// For tests: batches and metrics.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/metric.h"
#include "store/store.h"

namespace sharewell::store {

inline constexpr core::Metric kPower{.name = "gpu_power_watts",
                                     .unit = "watts",
                                     .kind = core::MetricKind::kGauge,
                                     .instance = "gpu",
                                     .help = "board power"};
inline constexpr core::Metric kEnergy{.name = "gpu_energy_joules",
                                      .unit = "joules",
                                      .kind = core::MetricKind::kCounter,
                                      .instance = "gpu",
                                      .help = "energy since the driver was loaded"};

// A round hour in November 2023.
constexpr core::UnixMillis kStart = 1'700'002'800'000;

inline core::Batch BatchOf(core::UnixMillis time, double value, const std::string& instance = "0",
                           const std::string& job = "") {
  return {time, {{&kPower, instance, job, value}}};
}

inline SeriesKey KeyOf(const std::string& node, const std::string& instance = "0",
                       const std::string& job = "") {
  return {node, "gpu_power_watts", instance, job};
}

}  // namespace sharewell::store
