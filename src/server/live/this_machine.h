// This machine as a cluster of its own: the GPUs that are here (MIG instances as GPUs of their own
// size), or declared ones that only stand in for them; the host's cores and memory.
#pragma once

#include <string>
#include <vector>

#include "catalogue/gpu_catalogue.h"
#include "collect/gpu/gpus.h"
#include "control/service/service.h"
#include "core/cluster.h"
#include "core/result.h"

namespace sharewell::server {

struct MachineOptions {
  // "2xH200" or "2xH200,1xA100": simulated GPUs instead of those that are here. "none": a machine
  // for CPU-only jobs. Empty: what is here.
  std::string gpus = {};
  std::string nvml_library = {};  // empty: the system's
};

struct MachineHere {
  core::Cluster cluster;               // one node a GPU model; without GPUs, one node of cores
  std::vector<control::GpuView> gpus;  // by GpuId
  std::vector<std::string> instances;  // by GpuId, as collectors call it: "0", "0:3"; simulated: ""
  std::vector<std::string> pci_buses;  // by GpuId: "00000000:01:00.0"; empty: not known
  std::vector<std::string> remarks;    // what was assumed, one sentence each
  // The cores are not all there either, so jobs are not kept to CPUs: simulated GPUs come with 16
  // cores and 64 GiB of host memory each where the host has less, so that what shares a GPU can be
  // seen on any machine.
  bool simulated_cores = false;
};

// No GPU and none declared is no error: CPU-only jobs run there. Errors: declared GPUs that cannot
// be read or are not in the catalogue.
core::Result<MachineHere> FindMachine(const MachineOptions& options,
                                      const catalogue::GpuCatalogue& catalogue);

// The pieces, of what was found. `cores` and `memory` of the host; 0: not known. Of the memory a
// twentieth is left to the system; jobs are given the rest.
struct HostFacts {
  std::string name;
  double cores = 0;
  core::Bytes memory;
};
core::Result<MachineHere> MachineOf(const HostFacts& host, const std::string& declared,
                                    const std::vector<collect::GpuFacts>& found,
                                    const catalogue::GpuCatalogue& catalogue);

}  // namespace sharewell::server
