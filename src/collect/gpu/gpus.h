// The GPUs of this machine and the facts that do not change while it runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/gpu_islands.h"
#include "core/result.h"
#include "core/units.h"

namespace sharewell::collect {

// A part of a GPU that MIG makes one of its own. We use those that there are, and make none.
struct MigFacts {
  unsigned id = 0;   // of the GPU instance; Reading::instance is "0:3"
  std::string uuid;  // "MIG-..."
  std::string kind;  // "1g.18gb"; empty: not said
  core::Bytes memory;

  friend bool operator==(const MigFacts&, const MigFacts&) = default;
};

struct GpuFacts {
  int index = 0;        // NVML's; Reading::instance is it as text
  std::string uuid;     // "GPU-5f0c..."; empty where the driver does not say, as for all texts
  std::string name;     // "NVIDIA H200"
  std::string driver;   // "580.159.04"
  std::string cuda;     // the highest CUDA version of the driver: "13.0"
  std::string pci_bus;  // "00000000:01:00.0"
  std::string minor;    // its device file is /dev/nvidiaMINOR: "0"
  core::Bytes memory;   // 0: not said
  std::string compute;  // compute capability: "9.0"
  std::optional<core::Watts> power_limit;
  std::optional<core::BytesPerSecond> pcie;  // what its link carries one way; absent: not known
  bool gpm = false;                          // has SM, tensor and DRAM figures
  bool mig = false;                          // is cut into MIG instances now
  std::vector<MigFacts> migs;                // by id
  // How far it is from each GPU, by index, itself among them: 0 over NVLink, then below one PCIe
  // switch or several in a row, on one processor, beyond. Empty: not known.
  std::vector<int> distances;
  bool mps = false;  // programs can share it under MPS (Volta and later, not in prohibited mode)

  friend bool operator==(const GpuFacts&, const GpuFacts&) = default;
};

// Where the user says that the driver's library lies ($SHAREWELL_NVML_LIBRARY); empty: nowhere.
std::string GivenNvmlLibrary();
// The same of DCGM's library ($SHAREWELL_DCGM_LIBRARY).
std::string GivenDcgmLibrary();

// By index; at least one. A GPU that does not answer is among them, without a name.  kAbsent: no
// driver, no GPU, or a driver that does not answer, and what to do about it. `library`: the
// driver's library; empty: libnvidia-ml.so.1, where the loader finds it.
core::Result<std::vector<GpuFacts>> FindGpus(const std::string& library = {});

// Which of them are near each other, by their order here.
core::GpuIslands IslandsOf(const std::vector<GpuFacts>& gpus);

}  // namespace sharewell::collect
