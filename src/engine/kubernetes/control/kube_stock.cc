#include "engine/kubernetes/control/kube_stock.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/quoted.h"
#include "core/text/words.h"
#include "engine/kubernetes/control/kube_fit.h"

namespace sharewell::engine {
namespace {

bool KeepsOthersAway(const KubeNode& node) {
  return std::any_of(node.taints.begin(), node.taints.end(), IsTaintForOthers);
}

std::string TaintCommand(const KubeNode& node) {
  return fmt::format("`kubectl taint node {} {}=true:NoSchedule`", node.name, kKubeTaint);
}

}  // namespace

KubeGpuCounts GpuCountsOf(const KubeNode& node, std::int64_t held) {
  KubeGpuCounts counts;
  const auto advertised = node.allocatable.find(std::string(kStockGpus));
  counts.plugin = std::max(held, advertised == node.allocatable.end() ? 0 : advertised->second);
  if (const auto listed = ParseKubeGpus(node.gpus)) {
    counts.ours = static_cast<std::int64_t>(listed->uuids.size());
    counts.all = listed->places;
  }
  return counts;
}

std::string WarningOfStock(const KubeNode& node) {
  const KubeGpuCounts counts = GpuCountsOf(node);
  if (!counts.Overlap() || KeepsOthersAway(node)) return {};
  return fmt::format(
      "node {}: NVIDIA's device plugin advertises {} as nvidia.com/gpu, and sharewell.io/gpus "
      "lists "
      "{} of {}: a pod of another scheduler may get a GPU that Sharewell has given out; keep such "
      "pods away with {}, or leave GPUs to the plugin (\"-\" in the annotation) and hide the "
      "others from it",
      node.name, core::Count(static_cast<std::uint64_t>(counts.plugin), "GPU"), counts.ours,
      counts.all, TaintCommand(node));
}

std::string WhoHasStock(KubeBook& book, const KubePods& pods, const KubeNode& node) {
  const auto there = pods.on_node().find(node.name);
  if (there == pods.on_node().end()) return {};
  std::int64_t held = 0;
  const KubePod* last = nullptr;
  for (const std::string& uid : there->second) {
    const KubePod& pod = book.pods().at(uid);
    const auto wants = pod.requests.find(std::string(kStockGpus));
    if (wants == pod.requests.end() || wants->second == 0) continue;
    held += std::min(wants->second, std::int64_t{1} << 32);
    last = &pod;
  }
  if (last == nullptr || !GpuCountsOf(node, held).Overlap()) return {};
  const std::int64_t its = last->requests.at(std::string(kStockGpus));
  return fmt::format(
      "pod {} has {} of node {} by nvidia.com/gpu, and nobody says which{}",
      core::Quoted(last->Name()), core::Count(static_cast<std::uint64_t>(its), "GPU"), node.name,
      KeepsOthersAway(node) ? std::string()
                            : fmt::format("; {} keeps such pods away", TaintCommand(node)));
}

}  // namespace sharewell::engine
