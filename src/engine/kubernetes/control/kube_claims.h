// KubeClaim: which of a node's GPUs a pod has, or is about to have. It stands in the node's
// annotation sharewell.io/claims, which pods' users cannot write, and is written before the pod is
// bound, with the node's resourceVersion: of two servers that both believe to lead, one is refused
// and reads again. After a restart it is what is believed; the pod's own annotations are for its
// containers alone. One claim: "UID JOB.ATTEMPT GPU+GPU sm:40 mem:14000 cores:4 shares", with ';'
// between claims. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu_islands.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::engine {

struct KubeClaim {
  std::int64_t job = 0;
  int attempt = 0;
  std::vector<std::string> gpus;  // by uuid; none: a CPU-only pod
  int sm_percent = 100;
  std::optional<std::int64_t> memory_mib;  // of each GPU; absent: not known
  double cores = 0;
  bool shares = false;   // others may be on the same GPUs
  bool limited = false;  // memory_mib is a limit that is kept, not only what is expected
  bool guest = false;    // that limit is what it has as one (core::Allocation)

  friend bool operator==(const KubeClaim&, const KubeClaim&) = default;
};
using KubeClaims = std::map<std::string, KubeClaim>;  // by the pod's uid

// An error: somebody else has written there. It says what to do.
core::Result<KubeClaims> ParseKubeClaims(std::string_view text);
std::string FormatKubeClaims(const KubeClaims& claims);

// Why these GPUs cannot be claimed beside the others, in words; empty: they can.
std::string WhyNotClaimed(const KubeClaims& others, const KubeClaim& mine, core::Bytes gpu_memory);

// A node's annotation sharewell.io/gpus: "H200 GPU-8f2a.. - GPU-77aa.. near:0,1|2,3": the model,
// then the uuids in the order of their numbers, "-" where the GPU of that number is not for pods;
// then, where that is known, which of these numbers are near each other (GpuIslands).
struct KubeGpus {
  std::string model;
  std::vector<std::string> uuids;
  std::vector<int> numbers;  // as NVML counts them, for each uuid
  int places = 0;            // with those that are not for pods
  core::GpuIslands islands;  // by the order of the uuids
};
inline constexpr std::string_view kNear = "near:";
core::Result<KubeGpus> ParseKubeGpus(std::string_view text);

}  // namespace sharewell::engine
