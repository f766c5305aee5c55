#include "stress/workers/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace sharewell::stress {
namespace {

constexpr CudaDriver::Status kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

template <class... Args>
tl::unexpected<core::Error> AbsentError(fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(
      core::Error{core::ErrorKind::kAbsent, fmt::format(format, std::forward<Args>(args)...)});
}

template <class Call>
bool Find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

// The name of the first call that is missing; null: all are there.
const char* FindAll(void* library, CudaDriver& d) {
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto& call) {
    if (!Find(library, name, call) && missing == nullptr) missing = name;
  };
  find("cuInit", d.Init);
  find("cuDeviceGetCount", d.DeviceGetCount);
  find("cuDeviceGet", d.DeviceGet);
  find("cuDeviceGetName", d.DeviceGetName);
  find("cuDeviceGetPCIBusId", d.DeviceGetPciBusId);
  find("cuDevicePrimaryCtxSetFlags_v2", d.PrimaryContextSetFlags);
  find("cuDevicePrimaryCtxRetain", d.PrimaryContextRetain);
  find("cuDevicePrimaryCtxRelease_v2", d.PrimaryContextRelease);
  find("cuCtxSetCurrent", d.ContextSetCurrent);
  find("cuMemAlloc_v2", d.MemAlloc);
  find("cuMemFree_v2", d.MemFree);
  find("cuMemHostAlloc", d.HostAlloc);
  find("cuMemFreeHost", d.HostFree);
  find("cuMemcpyHtoDAsync_v2", d.CopyToDevice);
  find("cuMemcpyDtoHAsync_v2", d.CopyToHost);
  find("cuStreamCreate", d.StreamCreate);
  find("cuStreamSynchronize", d.StreamSynchronize);
  find("cuStreamDestroy_v2", d.StreamDestroy);
  find("cuGetErrorString", d.GetErrorString);
  return missing;
}

}  // namespace

core::Result<std::shared_ptr<const CudaDriver>> CudaDriver::Open(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return AbsentError(
        "no NVIDIA driver is here ({}); PCIe pressure needs an NVIDIA GPU and its driver, which "
        "brings libcuda.so.1",
        ::dlerror());
  }
  auto driver = std::make_shared<CudaDriver>();
  if (const char* missing = FindAll(handle, *driver)) {
    return AbsentError("{} has no {}; a driver of CUDA 11 or newer is needed", library, missing);
  }
  if (const Status status = driver->Init(0); status != 0) {
    return AbsentError("{}: the CUDA driver does not start: {}; see what nvidia-smi says", library,
                       driver->Words(status));
  }
  return driver;
}

std::string CudaDriver::Words(Status status) const {
  const char* text = nullptr;
  if (GetErrorString(status, &text) != 0 || text == nullptr) text = "unknown error";
  return fmt::format("{} (CUDA error {})", text, status);
}

core::Result<CudaGpu> FindGpu(const CudaDriver& driver, int index) {
  int count = 0;
  const CudaDriver::Status status = driver.DeviceGetCount(&count);
  if (status != 0 && status != kNoDevice) {
    return AbsentError("the CUDA driver shows no GPU: {}", driver.Words(status));
  }
  if (status == kNoDevice || count <= 0) {
    return AbsentError(
        "the CUDA driver shows no GPU; see what nvidia-smi says, and whether CUDA_VISIBLE_DEVICES "
        "hides it");
  }
  std::vector<CudaGpu> gpus;
  for (int i = 0; i < count; ++i) {
    CudaGpu gpu;
    std::array<char, 256> name{};
    std::array<char, 64> bus{};
    if (driver.DeviceGet(&gpu.device, i) != 0) continue;
    if (driver.DeviceGetName(name.data(), static_cast<int>(name.size()) - 1, gpu.device) == 0) {
      gpu.name = name.data();
    }
    if (driver.DeviceGetPciBusId(bus.data(), static_cast<int>(bus.size()) - 1, gpu.device) == 0) {
      gpu.pci_bus_id = bus.data();
    }
    gpus.push_back(std::move(gpu));
  }
  std::stable_sort(gpus.begin(), gpus.end(),
                   [](const CudaGpu& a, const CudaGpu& b) { return a.pci_bus_id < b.pci_bus_id; });
  if (index < 0 || static_cast<std::size_t>(index) >= gpus.size()) {
    return core::UsageError("there is no GPU {}; this machine shows {}, counted from 0", index,
                            gpus.size());
  }
  return gpus[static_cast<std::size_t>(index)];
}

}  // namespace sharewell::stress
