// What the GPU's own performance monitor (GPM, Hopper and later) says of every GPU and MIG
// instance.
#pragma once

#include <memory>
#include <string>

#include "collect/collector.h"

namespace sharewell::collect {

// `library` as for NewNvmlCollector. Its floor is 0.1 s: a GPU's own figures are not newer
// (NVIDIA/DCGM#310). The counters are one for all programs: only one agent a machine should run it.
std::unique_ptr<Collector> NewGpmCollector(const std::string& library);

}  // namespace sharewell::collect
