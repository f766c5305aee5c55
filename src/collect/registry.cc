#include "collect/registry.h"

#include "collect/gpu/dcgm_collector.h"
#include "collect/gpu/gpm_collector.h"
#include "collect/gpu/nvml_collector.h"

namespace sharewell::collect {

std::vector<std::unique_ptr<Collector>> AllCollectors(const CollectorOptions& options) {
  const std::string& root = options.root;
  std::vector<std::unique_ptr<Collector>> all;
  all.push_back(NewNvmlCollector(options.nvml_library, options.jobs));
  if (options.gpm) {
    all.push_back(NewGpmCollector(options.nvml_library));
    all.push_back(NewDcgmCollector(options.nvml_library, DcgmHere(options.dcgm_library)));
  }
  all.push_back(NewCpuCollector(root));
  all.push_back(NewMemoryCollector(root));
  all.push_back(NewDiskCollector(root));
  all.push_back(NewNetworkCollector(root));
  all.push_back(NewPressureCollector(root, options.jobs));
  all.push_back(NewNumaCollector(root));
  all.push_back(NewPerfCollector(root, options.jobs));
  all.push_back(NewTrafficCollector(root, options.jobs));
  all.push_back(NewRaplCollector(root));
  all.push_back(NewHwmonCollector(root));
  all.push_back(NewIpmiCollector(root));
  all.push_back(NewJobsCollector(root, options.jobs));
  all.push_back(NewStepsCollector(root, options.steps, options.jobs, options.told));
  return all;
}

}  // namespace sharewell::collect
