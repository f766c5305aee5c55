#include "engine/slurm/site/site_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/text/quoted.h"
#include "engine/slurm/control/slurm_place.h"

namespace sharewell::engine {

core::Result<std::string> SiteClusterText(const std::vector<SlurmNode>& nodes,
                                          const GpuModelNamed& named) {
  using Kind = std::tuple<std::string, int, int, double>;  // model, GPUs, cores, memory
  std::map<Kind, int> kinds;
  std::map<std::string, int> gpus_of_model;
  for (const SlurmNode& node : nodes) {
    const int gpus = static_cast<int>(node.slots.size()) + node.other_gpus;
    const auto model = ModelOfNode(node, named);
    if (gpus > 0 && !model) {
      return core::FailedError(
          "node {} has GPUs, and neither its features nor its GPU types name a model that is known "
          "(`sharewell gpus` lists them): write Feature=MODEL into its line of slurm.conf, or give "
          "--gpu-catalogue FILE",
          core::Quoted(node.name));
    }
    ++kinds[{gpus > 0 ? model->name : "", gpus, node.cpus, node.memory.value}];
    if (gpus > 0) gpus_of_model[model->name] += gpus;
  }
  if (gpus_of_model.empty()) {
    return core::FailedError("Slurm has no GPUs there: `sinfo -h -o '%P %G'` lists them");
  }
  std::vector<std::pair<Kind, int>> sorted(kinds.begin(), kinds.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return gpus_of_model[std::get<0>(a.first)] > gpus_of_model[std::get<0>(b.first)];
  });
  std::string text = "# The nodes of a Slurm cluster, as sinfo has them.\n";
  for (const auto& [kind, count] : sorted) {
    const auto& [model, gpus, cores, memory] = kind;
    text += fmt::format("\n[[nodes]]\ncount = {}\ngpus = {}\n", count, gpus);
    if (gpus > 0) text += fmt::format("gpu = \"{}\"\n", model);
    if (cores > 0) text += fmt::format("cores = {}\n", cores);
    if (memory > 0) text += fmt::format("memory_gb = {:.1f}\n", memory / (1 << 30));
  }
  return text;
}

}  // namespace sharewell::engine
