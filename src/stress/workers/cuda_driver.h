// CudaDriver: the few calls of the CUDA driver library that copying over PCIe needs, opened at run
// time, so that one program runs with and without it. Only entry points whose signatures have
// stayed the same since CUDA 11 are used: the primary context, not cuCtxCreate, whose signature has
// not.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/result.h"

namespace sharewell::stress {

struct CudaDriver {
  using Status = int;  // CUresult; 0 is success
  using Device = int;
  using Context = void*;
  using Stream = void*;
  using DeviceMemory = unsigned long long;

  Status (*Init)(unsigned flags);
  Status (*DeviceGetCount)(int* count);
  Status (*DeviceGet)(Device* device, int index);
  Status (*DeviceGetName)(char* name, int size, Device device);
  Status (*DeviceGetPciBusId)(char* id, int size, Device device);
  Status (*PrimaryContextSetFlags)(Device device, unsigned flags);
  Status (*PrimaryContextRetain)(Context* context, Device device);
  Status (*PrimaryContextRelease)(Device device);
  Status (*ContextSetCurrent)(Context context);
  Status (*MemAlloc)(DeviceMemory* memory, std::size_t bytes);
  Status (*MemFree)(DeviceMemory memory);
  Status (*HostAlloc)(void** memory, std::size_t bytes, unsigned flags);
  Status (*HostFree)(void* memory);
  Status (*CopyToDevice)(DeviceMemory to, const void* from, std::size_t bytes, Stream stream);
  Status (*CopyToHost)(void* to, DeviceMemory from, std::size_t bytes, Stream stream);
  Status (*StreamCreate)(Stream* stream, unsigned flags);
  Status (*StreamSynchronize)(Stream stream);
  Status (*StreamDestroy)(Stream stream);
  Status (*GetErrorString)(Status status, const char** text);

  // Loaded and initialised. kAbsent: no such library, one without these calls, or no driver behind
  // it. The library stays loaded to the end of the process, as it wants to.
  static core::Result<std::shared_ptr<const CudaDriver>> Open(const std::string& library);
  // "out of memory (CUDA error 2)".
  std::string Words(Status status) const;
};

struct CudaGpu {
  CudaDriver::Device device = 0;
  std::string name;        // "NVIDIA H200"
  std::string pci_bus_id;  // "0000:1B:00.0"
};
// The visible GPUs in PCI bus order; kUsage when there are not that many, kAbsent when there is
// none.
core::Result<CudaGpu> FindGpu(const CudaDriver& driver, int index);

}  // namespace sharewell::stress
