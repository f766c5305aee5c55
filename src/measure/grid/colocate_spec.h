// What `sharewell colocate` is asked: workloads, and which of them run together. Format:
// docs/formats/colocate.md.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/profile.h"
#include "core/result.h"
#include "measure/grid/grid_spec.h"

namespace sharewell::measure {

// As many as docs/formats/pairs.md has endings for.
inline constexpr std::size_t kMostResidents = 8;

struct ColocatedWorkload {
  std::string name;  // short, unique: "RN"
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;
  core::Workload workload;
  std::optional<int> cpus;  // so many CPUs of its own; absent: all share all
  std::optional<core::Bytes> memory;
  std::optional<int> sm_percent;  // of its GPU's SMs beside others; alone it has all
  std::optional<int> gpu;         // by index; absent: the command's own choice
  std::optional<int> numa_node;   // of its CPUs; absent: any
  ThroughputSource throughput;
};

enum class UseMps { kAuto, kOn, kOff };

struct ColocateSpec {
  std::string name;
  std::vector<ColocatedWorkload> workloads;
  std::vector<std::vector<std::size_t>> sets;  // indices of workloads; rising within a set
  UseMps mps = UseMps::kAuto;
  bool again = false;       // each alone once more at the end, to see drift
  std::optional<int> cpus;  // for all of a set together; absent: all that there are
  Measuring measuring;
  std::optional<core::Bytes> memory;  // of the host, for all of a set together
};

core::Result<ColocateSpec> ReadColocateSpec(const std::string& path);
core::Result<ColocateSpec> ReadColocateSpecText(std::string_view text, const std::string& name);

}  // namespace sharewell::measure
