#include "collect/gpu/nvml/mig.h"

#include <fmt/format.h>

#include <algorithm>

namespace sharewell::collect {

bool MigIsOn(const nvml::Api& api, nvml::Device gpu) {
  unsigned now = 0, pending = 0;
  return api.MigMode != nullptr && api.MigMode(gpu, &now, &pending) == nvml::kSuccess && now == 1;
}

std::vector<MigInstance> MigInstances(const nvml::Api& api, nvml::Device gpu) {
  std::vector<MigInstance> found;
  unsigned most = 0;
  if (api.MaxMigDevices == nullptr || api.MigDevice == nullptr || api.GpuInstanceId == nullptr ||
      !MigIsOn(api, gpu) || api.MaxMigDevices(gpu, &most) != nvml::kSuccess) {
    return found;
  }
  for (unsigned i = 0; i < most; ++i) {
    MigInstance mig;
    if (api.MigDevice(gpu, i, &mig.handle) != nvml::kSuccess ||
        api.GpuInstanceId(mig.handle, &mig.id) != nvml::kSuccess) {
      continue;
    }
    // Several compute instances of one GPU instance are several MIG devices.
    const auto at = std::lower_bound(found.begin(), found.end(), mig.id,
                                     [](const MigInstance& a, unsigned id) { return a.id < id; });
    if (at == found.end() || at->id != mig.id) found.insert(at, mig);
  }
  return found;
}

std::string MigName(const std::string& gpu, unsigned id) { return fmt::format("{}:{}", gpu, id); }

}  // namespace sharewell::collect
