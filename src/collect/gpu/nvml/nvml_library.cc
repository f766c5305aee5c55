#include "collect/gpu/nvml/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <initializer_list>

namespace sharewell::collect {
namespace {

constexpr const char* kNvmlName = "libnvidia-ml.so.1";

// The first of the names that the library has.
template <class Function>
void FindFunction(void* handle, Function*& target, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    target = reinterpret_cast<Function*>(::dlsym(handle, name));
    if (target != nullptr) return;
  }
}

nvml::Api FindNvmlFunctions(void* handle) {
  nvml::Api api;
  const auto find = [&](auto*& target, std::initializer_list<const char*> names) {
    FindFunction(handle, target, names);
  };
  find(api.Init, {"nvmlInit_v2", "nvmlInit"});
  find(api.Shutdown, {"nvmlShutdown"});
  find(api.DriverVersion, {"nvmlSystemGetDriverVersion"});
  find(api.CudaVersion, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  find(api.ProcessName, {"nvmlSystemGetProcessName"});
  find(api.DeviceCount, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(api.DeviceByIndex, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(api.Name, {"nvmlDeviceGetName"});
  find(api.Uuid, {"nvmlDeviceGetUUID"});
  find(api.Pci, {"nvmlDeviceGetPciInfo_v3"});
  find(api.Minor, {"nvmlDeviceGetMinorNumber"});
  find(api.ComputeCapability, {"nvmlDeviceGetCudaComputeCapability"});
  find(api.ComputeModeOf, {"nvmlDeviceGetComputeMode"});
  find(api.PowerLimit, {"nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit"});
  find(api.MigMode, {"nvmlDeviceGetMigMode"});
  find(api.MaxMigDevices, {"nvmlDeviceGetMaxMigDeviceCount"});
  find(api.MigDevice, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  find(api.GpuInstanceId, {"nvmlDeviceGetGpuInstanceId"});
  find(api.Rates, {"nvmlDeviceGetUtilizationRates"});
  find(api.MemoryInfo, {"nvmlDeviceGetMemoryInfo"});
  find(api.MemoryInfoV2, {"nvmlDeviceGetMemoryInfo_v2"});
  find(api.Power, {"nvmlDeviceGetPowerUsage"});
  find(api.Energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(api.ClockMhz, {"nvmlDeviceGetClockInfo"});
  find(api.Temperature, {"nvmlDeviceGetTemperature"});
  find(api.Fields, {"nvmlDeviceGetFieldValues"});
  find(api.PcieKilobytes, {"nvmlDeviceGetPcieThroughput"});
  find(api.PcieGeneration, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  find(api.PcieLanes, {"nvmlDeviceGetMaxPcieLinkWidth"});
  find(api.PcieReplays, {"nvmlDeviceGetPcieReplayCounter"});
  find(api.CommonAncestor, {"nvmlDeviceGetTopologyCommonAncestor"});
  find(api.WayBetween, {"nvmlDeviceGetP2PStatus"});
  find(api.ThrottleReasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(api.Violations, {"nvmlDeviceGetViolationStatus"});
  find(api.EccErrors, {"nvmlDeviceGetTotalEccErrors"});
  find(api.RemappedRows, {"nvmlDeviceGetRemappedRows"});
  find(api.Encoder, {"nvmlDeviceGetEncoderUtilization"});
  find(api.Decoder, {"nvmlDeviceGetDecoderUtilization"});
  find(api.Processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  find(api.MpsProcesses, {"nvmlDeviceGetMPSComputeRunningProcesses_v3",
                          "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
  find(api.ProcessSamples, {"nvmlDeviceGetProcessUtilization"});
  find(api.NewEventSet, {"nvmlEventSetCreate"});
  find(api.FreeEventSet, {"nvmlEventSetFree"});
  find(api.RegisterEvents, {"nvmlDeviceRegisterEvents"});
  find(api.WaitEvent, {"nvmlEventSetWait_v2"});
  find(api.GpmSupported, {"nvmlGpmQueryDeviceSupport"});
  find(api.NewGpmSample, {"nvmlGpmSampleAlloc"});
  find(api.FreeGpmSample, {"nvmlGpmSampleFree"});
  find(api.TakeGpm, {"nvmlGpmSampleGet"});
  find(api.TakeMigGpm, {"nvmlGpmMigSampleGet"});
  find(api.GpmMetrics, {"nvmlGpmMetricsGet"});
  return api;
}

tl::unexpected<core::Error> NvmlAbsent(std::string message) {
  return tl::unexpected(core::Error{core::ErrorKind::kAbsent, std::move(message)});
}

}  // namespace

core::Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Open(const std::string& path) {
  const std::string name = path.empty() ? kNvmlName : path;
  void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();  // names the file itself
    return NvmlAbsent(
        fmt::format("the library of NVIDIA's driver cannot be opened: {}; install the driver, or "
                    "name its library in SHAREWELL_NVML_LIBRARY where it lies elsewhere",
                    reason != nullptr ? reason : name));
  }
  const nvml::Api api = FindNvmlFunctions(handle);
  if (api.Init == nullptr || api.Shutdown == nullptr || api.DeviceCount == nullptr ||
      api.DeviceByIndex == nullptr) {
    ::dlclose(handle);
    return NvmlAbsent(
        fmt::format("{}: is not NVIDIA's management library: it cannot count GPUs; name "
                    "the driver's libnvidia-ml.so.1",
                    name));
  }
  if (const int code = api.Init(); code != nvml::kSuccess) {
    ::dlclose(handle);
    return NvmlAbsent(fmt::format("NVIDIA's driver does not start: {}", NvmlMeaning(code)));
  }
  return std::unique_ptr<NvmlLibrary>(new NvmlLibrary(handle, api));
}

NvmlLibrary::~NvmlLibrary() {
  api_.Shutdown();
  ::dlclose(handle_);
}

std::string NvmlMeaning(int code) {
  switch (code) {
    case nvml::kUninitialized:
      return "the library was shut down; it is opened again by itself";
    case nvml::kNotSupported:
      return "this GPU or driver does not have it";
    case nvml::kNoPermission:
      return "this user may not ask; run as root, or give the user the rights";
    case nvml::kDriverNotLoaded:
      return "the kernel has not loaded the driver; load it: modprobe nvidia";
    case nvml::kTimeout:
      return "the driver did not answer in time";
    case nvml::kGpuIsLost:
      return "the GPU has fallen off the bus; look for its XID error in the kernel's log (dmesg), "
             "then reset it (nvidia-smi --gpu-reset) or restart the machine";
    case nvml::kResetRequired:
      return "the GPU must be reset before it can be used: nvidia-smi --gpu-reset";
    case nvml::kLibraryMismatch:
      return "library and loaded driver are of different versions, as after an update; restart the "
             "machine or load the driver anew";
    case nvml::kGpuNotFound:
      return "the GPU is no longer there";
    default:
      return fmt::format("error {} of NVML; nvidia-smi may say more", code);
  }
}

bool NvmlStopped(int code) {
  return code == nvml::kUninitialized || code == nvml::kDriverNotLoaded ||
         code == nvml::kLibraryMismatch;
}

bool GpuGone(int code) {
  return code == nvml::kGpuIsLost || code == nvml::kResetRequired || code == nvml::kGpuNotFound;
}

bool NeverThere(int code) { return code == nvml::kNotSupported || code == nvml::kFunctionNotFound; }

}  // namespace sharewell::collect
