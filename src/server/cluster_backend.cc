#include "server/cluster_backend.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "core/text/words.h"
#include "engine/runner_node.h"
#include "platform/clock/wall_clock.h"
#include "store/store.h"

namespace sharewell::server {

std::unique_ptr<ClusterMonitor> NewClusterMonitor(const ServerOptions& options) {
  ClusterMonitorOptions look;
  look.open = [place = options.AgentsStore()] { return store::Open(place); };
  look.wall = [] { return platform::UnixNow(); };
  look.log = options.log;
  return std::make_unique<ClusterMonitor>(std::move(look));
}

std::unique_ptr<ClusterAgents> NewClusterAgents(const ServerOptions& options) {
  ClusterAgentsOptions hear;
  hear.open = [place = options.AgentsStore()] { return store::Open(place); };
  hear.wall = [] { return platform::UnixNow(); };
  return std::make_unique<ClusterAgents>(std::move(hear));
}

std::string NodesThatAreUp(const core::Cluster& cluster) {
  std::vector<std::string> counts;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const int count = cluster.CountOf(core::GpuModelId(m));
    if (count > 0) counts.push_back(fmt::format("{} {}", count, cluster.models()[m].name));
  }
  return fmt::format("{} up, with {}", core::Count(cluster.nodes().size(), "node is", "nodes are"),
                     counts.empty() ? "no GPU" : fmt::format("{}", fmt::join(counts, " and ")));
}

engine::GpuModelNamed ModelsOf(const catalogue::GpuCatalogue& catalogue) {
  return [&catalogue](std::string_view name) -> std::optional<engine::KnownGpuModel> {
    const auto model = catalogue.Find(name);
    if (!model) return std::nullopt;
    return engine::KnownGpuModel{model->name, model->memory};
  };
}

core::Result<void> ShowCluster(engine::ClusterRunner& runner, ClusterMonitor& monitor,
                               const catalogue::GpuCatalogue& catalogue, BackendFace& face) {
  const engine::OpenedCluster& opened = runner.opened();
  MachineHere& machine = face.machine;
  machine.remarks = opened.remarks;
  std::vector<core::GpuModel> known;
  for (const std::string& name : opened.models) {
    auto model = catalogue.Find(name);
    RETURN_IF_ERROR(model);
    known.push_back(std::move(*model));
  }
  // Nodes join later with models of the cluster alone: where nobody knows which, with any.
  if (known.empty()) known = catalogue.models();
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
  face.runner = &runner;
  face.foreign_queue = &runner;
  face.monitor = &monitor;
  return {};
}

}  // namespace sharewell::server
