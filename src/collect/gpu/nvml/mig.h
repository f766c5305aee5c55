// The MIG instances that a GPU is cut into.
#pragma once

#include <string>
#include <vector>

#include "collect/gpu/nvml/nvml_api.h"

namespace sharewell::collect {

struct MigInstance {
  unsigned id = 0;  // of the GPU instance
  nvml::Device handle = nullptr;
};

// By id, each GPU instance once; empty where MIG is off or not there.
std::vector<MigInstance> MigInstances(const nvml::Api& api, nvml::Device gpu);

bool MigIsOn(const nvml::Api& api, nvml::Device gpu);

// Reading::instance of it: "0:3".
std::string MigName(const std::string& gpu, unsigned id);

}  // namespace sharewell::collect
