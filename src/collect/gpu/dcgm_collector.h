// What DCGM counts on GPUs that have no GPM (before Hopper): SM, occupancy, tensor and DRAM
// activity, PCIe and NVLink.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collect/collector.h"
#include "collect/gpu/dcgm/dcgm_engine.h"
#include "collect/gpu/gpus.h"

namespace sharewell::collect {

// As this process may use it: only root may start an engine where there is no service, because an
// engine needs root's rights to count.
DcgmEngine::Options DcgmHere(const std::string& library);

// `nvml_library` as for NewNvmlCollector: it says which GPUs there are and which have GPM. `dcgm`
// is opened once there is a GPU without, by a thread of its own, because DCGM's service may be slow
// to answer. Before Hopper the counters are one program's: only one agent a machine should run it.
std::unique_ptr<Collector> NewDcgmCollector(const std::string& nvml_library,
                                            DcgmEngine::Options dcgm);

// How DCGM's service stands with each of these GPUs that have no GPM, by index. One look, without
// starting an engine: milliseconds, or a second where the service loads its profiling module.
std::map<int, Health> ProbeDcgm(const DcgmEngine::Options& dcgm, const std::vector<GpuFacts>& gpus);

}  // namespace sharewell::collect
