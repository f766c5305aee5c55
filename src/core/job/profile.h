// Profile: what a workload was measured to need, alone, on one GPU model. Unknown is absent.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"

namespace sharewell::core {

// What trains: a model, its batch, its precision and its data-loader processes.
struct Workload {
  std::string name;  // "tv:resnet50@224"
  int batch = 0;     // 0: not given
  std::string precision;
  int workers = 0;

  friend auto operator<=>(const Workload&, const Workload&) = default;
};

// How fast a job goes on fewer cores than it would like: (cores a GPU, share of full throughput),
// rising in both; linear in between, flat beyond the last.
using CpuCurve = std::vector<std::pair<double, Ratio>>;

struct Profile {
  Workload workload;
  std::string gpu;  // GPU model name or alias it was measured on
  std::optional<double> steps_per_second;
  std::optional<Ratio> busy, sm, dram;  // 0..1
  std::optional<Bytes> gpu_memory;
  std::optional<BytesPerSecond> pcie;
  std::optional<double> cpu_cores;
  std::optional<Bytes> host_memory;
  std::optional<BytesPerSecond> host_bandwidth;
  std::optional<Watts> power;
  std::optional<Seconds> kernel_time;  // mean of one kernel
  std::optional<double> kernels;       // a step
  CpuCurve cpu_curve;                  // empty: not measured

  friend bool operator==(const Profile&, const Profile&) = default;
};

// Steps a second that were seen while a job had its GPUs to itself, over so many seconds. What was
// predicted, or told, is none.
struct SeenRate {
  double steps_per_second = 0;
  Seconds over;

  friend bool operator==(const SeenRate&, const SeenRate&) = default;
};

// Two workloads measured together on one GPU of one model, in steps a second each.
struct PairMeasurement {
  std::string gpu;  // model name or alias; empty: the one their profiles were measured on
  Workload a, b;
  double steps_per_second_a = 0;
  double steps_per_second_b = 0;
  bool fits = true;  // false: together they ran out of GPU memory
  // Steps a second alone in the same sitting; absent: those of the profiles are compared with.
  std::optional<double> alone_a = {};
  std::optional<double> alone_b = {};

  friend bool operator==(const PairMeasurement&, const PairMeasurement&) = default;
};

// Everything that was measured: workloads alone, and pairs of them together.
struct Measurements {
  std::vector<Profile> profiles;
  std::vector<PairMeasurement> pairs;
  // So many of the profiles, from the first, may stand in for a job that names no workload. Thus a
  // catalogue can grow at its end, and a trace and a seed still mean the same jobs.
  std::size_t stand_ins = std::numeric_limits<std::size_t>::max();
};

// Any number of workloads measured together on one GPU: `steps_per_second` and `alone`, in the same
// sitting, have one entry for each.
struct GroupMeasurement {
  std::vector<Workload> workloads;
  std::vector<double> steps_per_second;
  std::vector<double> alone;

  friend bool operator==(const GroupMeasurement&, const GroupMeasurement&) = default;
};

}  // namespace sharewell::core
