#include "policy/idle_gpus.h"

#include <algorithm>
#include <set>
#include <utility>

#include "policy/nearest_gpus.h"

namespace sharewell::policy {

using core::GpuId;
using core::MaxTree;
using core::NodeId;

namespace {
constexpr int kNodesLookedAt = 16;  // for GPUs that are near each other
}  // namespace

bool IdleSearch::fits_on_a_node() const {
  return view_.job.gpus <= snapshot_.cluster().LargestNodeOf(model_);
}

bool IdleSearch::MayFind() const {
  const int count = view_.job.gpus;
  if (ledger_.idle_gpus() < count) return false;
  const int of_node = view_.job.gpus_a_node;
  const int least = of_node > 0 && of_node < count ? of_node : (fits_on_a_node() ? count : 1);
  return ledger_.NodeWithIdle(model_, least) != MaxTree::kNone;
}

std::vector<int> IdleSearch::IdleOf(std::size_t node, int most) const {
  std::vector<int> idle;
  const core::Node& on = snapshot_.cluster().nodes()[node];
  for (int k = 0; k < on.gpus && static_cast<int>(idle.size()) < most; ++k) {
    const GpuId gpu(on.first_gpu.index() + static_cast<std::size_t>(k));
    if (ledger_.residents(gpu).count() == 0 && ledger_.FitsBesideStrangers(snapshot_, view_, gpu)) {
      idle.push_back(k);
    }
  }
  return idle;
}

IdleSearch::OnNode IdleSearch::Take(std::size_t node, int want) const {
  const core::Node& on = snapshot_.cluster().nodes()[node];
  const bool choose = on.islands.known();
  NearGpus near{IdleOf(node, choose ? on.gpus : want), 0};
  if (choose) near = NearestGpus(on.islands, near.gpus, want);
  OnNode taken;
  taken.spread = near.spread;
  for (int i = 0; i < want; ++i) {
    const int number = near.gpus[static_cast<std::size_t>(i)];
    taken.gpus.emplace_back(on.first_gpu.index() + static_cast<std::size_t>(number));
  }
  return taken;
}

// The idle GPUs of the first node that has enough are looked for on the others, then those of the
// second, and so on: a set that enough nodes have.
std::optional<std::vector<GpuId>> IdleSearch::SameOfNodes(const Suffices& suffices) const {
  const auto& cluster = snapshot_.cluster();
  const int of_node = view_.job.gpus_a_node, nodes = view_.job.gpus / of_node;
  const auto next = [&](std::size_t from) { return ledger_.NodeWithIdle(model_, of_node, from); };
  std::vector<std::pair<std::size_t, std::vector<int>>> idle;  // by node: its idle GPUs by number
  for (std::size_t n = next(0); n != MaxTree::kNone; n = next(n + 1)) {
    if (!suffices(n, of_node)) continue;
    idle.emplace_back(n, IdleOf(n, cluster.nodes()[n].gpus));
  }
  std::set<std::vector<int>> tried;
  for (const auto& [first, numbers] : idle) {
    // Of one node each window of its idle GPUs, so that one that is busy elsewhere is passed over.
    for (std::size_t at = 0; at + static_cast<std::size_t>(of_node) <= numbers.size(); ++at) {
      const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at);
      const std::vector<int> wanted(begin, begin + of_node);
      if (!tried.insert(wanted).second) continue;
      std::vector<GpuId> gpus;
      int found = 0;
      for (const auto& [n, has] : idle) {
        if (found == nodes) break;
        if (cluster.nodes()[n].exclusive != cluster.nodes()[first].exclusive) continue;
        if (!std::includes(has.begin(), has.end(), wanted.begin(), wanted.end())) continue;
        ++found;
        for (const int k : wanted) {
          gpus.emplace_back(cluster.nodes()[n].first_gpu.index() + static_cast<std::size_t>(k));
        }
      }
      if (found == nodes) return gpus;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<GpuId>> IdleSearch::OfOneNode(const Suffices& suffices) const {
  const int count = view_.job.gpus;
  const auto next = [&](std::size_t from) { return ledger_.NodeWithIdle(model_, count, from); };
  std::optional<OnNode> best;
  int looked_at = 0;
  for (std::size_t n = next(0); n != MaxTree::kNone; n = next(n + 1)) {
    if (!suffices(n, count)) continue;
    OnNode here = Take(n, count);
    if (!best || here.spread < best->spread) best = std::move(here);
    if (best->spread == 0 || ++looked_at == kNodesLookedAt) break;
  }
  return best ? std::optional(std::move(best->gpus)) : std::nullopt;
}

std::optional<std::vector<GpuId>> IdleSearch::OfWholeNodes(const Suffices& suffices) const {
  const auto& cluster = snapshot_.cluster();
  std::vector<GpuId> gpus;
  const auto take = [&](std::size_t n, int want) {
    const OnNode here = Take(n, want);
    gpus.insert(gpus.end(), here.gpus.begin(), here.gpus.end());
  };
  const auto taken_from = [&](std::size_t n) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](GpuId g) { return cluster.NodeOf(g).index() == n; });
  };
  int left = view_.job.gpus;
  for (std::size_t n = ledger_.NodeWithIdle(model_, 1); left > 0 && n != MaxTree::kNone;
       n = ledger_.NodeWithIdle(model_, 1, n + 1)) {
    const int whole = cluster.nodes()[n].gpus;
    if (ledger_.idle_gpus(NodeId(n)) < whole || whole > left || !suffices(n, whole)) continue;
    take(n, whole);
    left -= whole;
  }
  if (left > 0) {
    std::size_t n = ledger_.NodeWithIdle(model_, left);
    while (n != MaxTree::kNone && (!suffices(n, left) || taken_from(n))) {
      n = ledger_.NodeWithIdle(model_, left, n + 1);
    }
    if (n == MaxTree::kNone) return std::nullopt;
    take(n, left);
  }
  std::sort(gpus.begin(), gpus.end());
  return gpus;
}

std::optional<std::vector<GpuId>> IdleSearch::Find(double cores_a_gpu) const {
  const auto& cluster = snapshot_.cluster();
  constexpr double kDust = 1e-9;
  const Suffices suffices = [&](std::size_t n, int want) {
    return (ledger_.of_nobody() || AllowedOn(cluster, view_, NodeId(n))) &&
           (!snapshot_.any_foreign_memory() ||  // nodes are told by idle GPUs, not by who else is
                                                // on them
            static_cast<int>(IdleOf(n, want).size()) == want) &&
           ledger_.cores_for_training(snapshot_, NodeId(n)) + kDust >= cores_a_gpu * want &&
           ledger_.HostMemorySuffices(snapshot_, view_, NodeId(n), want);
  };
  const int of_node = view_.job.gpus_a_node;
  if (of_node > 0 && of_node < view_.job.gpus) return SameOfNodes(suffices);
  if (of_node > cluster.LargestNodeOf(model_)) return std::nullopt;
  if (fits_on_a_node()) return OfOneNode(suffices);
  if (ledger_.idle_gpus() < view_.job.gpus) return std::nullopt;
  return OfWholeNodes(suffices);
}

}  // namespace sharewell::policy
