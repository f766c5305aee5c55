// Figure: one number that is predicted, and the scale it is learnt on.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace sharewell::predict {

enum class Figure {
  kBusySeconds,  // seconds a step that some kernel runs
  kStepSeconds,
  kBusy,    // share of the time that some kernel runs (NVML's utilisation); shares are 0..1
  kSm,      // SM activity
  kDram,    // device memory bandwidth used
  kTensor,  // matrix units' activity
  kMemory,  // bytes: NVML's memory in use in steady state, context included
  // bytes: the allocator's peak while cuDNN searches for algorithms. The search takes what is free
  // and does with less, so nobody needs it.
  kReserved,
  kPcie,  // bytes a second, both ways
  kCores,
  kHostMemory,  // bytes
  kPower,       // watts
};
inline constexpr std::size_t kFigures = 12;

constexpr std::array<std::string_view, kFigures> kFigureNames = {
    "busy_seconds", "step_seconds", "busy", "sm",    "dram",        "tensor",
    "gpu_memory",   "reserved",     "pcie", "cores", "host_memory", "power"};

constexpr std::size_t Index(Figure figure) { return static_cast<std::size_t>(figure); }
constexpr std::string_view NameOf(Figure figure) { return kFigureNames[Index(figure)]; }

// Shares are learnt as log(1 + percent), everything else as a logarithm.
constexpr bool IsShare(Figure figure) {
  return figure == Figure::kBusy || figure == Figure::kSm || figure == Figure::kDram ||
         figure == Figure::kTensor;
}
// What a process holds in memory follows from its graph and its framework, whatever the card; times
// do not, nor does what is counted by the second.
constexpr bool DependsOnGpu(Figure figure) {
  return figure != Figure::kMemory && figure != Figure::kHostMemory;
}
double ToScale(Figure figure, double value);
double FromScale(Figure figure, double scaled);  // shares are cut at 0 and 1

// What was measured of one workload; absent where it was not.
using Figures = std::array<std::optional<double>, kFigures>;

}  // namespace sharewell::predict
