#include "server/cluster_machine.h"

#include <algorithm>
#include <utility>

#include "core/result.h"
#include "engine/runner_node.h"

namespace sharewell::server {

engine::GpuModelNamed ModelsOf(const catalogue::GpuCatalogue& catalogue) {
  return [&catalogue](std::string_view name) -> std::optional<engine::KnownGpuModel> {
    const auto model = catalogue.Find(name);
    if (!model) return std::nullopt;
    return engine::KnownGpuModel{model->name, model->memory};
  };
}

core::Result<MachineHere> ClusterMachine(const engine::OpenedCluster& opened,
                                         const catalogue::GpuCatalogue& catalogue) {
  MachineHere machine;
  machine.remarks = opened.remarks;
  std::vector<core::GpuModel> known;
  for (const std::string& name : opened.models) {
    auto model = catalogue.Find(name);
    RETURN_IF_ERROR(model);
    known.push_back(std::move(*model));
  }
  std::vector<core::Node> ours;
  for (const engine::RunnerNode& node : opened.nodes) {
    core::GpuModelId its;
    for (std::size_t m = 0; m < known.size(); ++m) {
      if (!node.gpus.empty() && known[m].name == node.gpus.front().model) {
        its = core::GpuModelId(m);
      }
    }
    ours.push_back(engine::ClusterNode(node, its));
    for (const core::GivenGpu& gpu : node.gpus) {
      control::GpuView view;
      view.gpu = gpu;
      view.memory = node.gpu_memory;
      machine.gpus.push_back(std::move(view));
      machine.instances.emplace_back();
      machine.pci_buses.emplace_back();
    }
  }
  machine.cluster = core::Cluster(std::move(known), std::move(ours));
  return machine;
}

}  // namespace sharewell::server
