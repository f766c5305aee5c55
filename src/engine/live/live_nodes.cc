#include "engine/live/live_nodes.h"

#include <algorithm>
#include <utility>

namespace sharewell::engine {

using core::GpuId;

namespace {

template <class Items, class Item>
bool HasItem(const Items& items, const Item& item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

}  // namespace

LiveNodes::LiveNodes(const core::Cluster& cluster, std::vector<core::GivenGpu> gpus)
    : gpus_(std::move(gpus)) {
  for (const core::Node& node : cluster.nodes()) {
    nodes_.push_back(
        {node.name, node.first_gpu.index(), static_cast<std::size_t>(node.gpus), true});
  }
}

LiveNodes::Known* LiveNodes::Find(const std::string& name) {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const Known& node) { return node.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

bool LiveNodes::AreUp(const std::vector<GpuId>& gpus, core::NodeId node) const {
  const auto lost = [&](GpuId gpu) { return lost_.contains(gpu); };
  if (std::any_of(gpus.begin(), gpus.end(), lost)) return false;
  return !node.valid() || nodes_[node.index()].up;
}

void LiveNodes::Name(const core::Allocation& place, RunRequest& request) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Known& node = nodes_[i];
    const auto here = [&](GpuId gpu) {
      return gpu.index() >= node.first_gpu && gpu.index() < node.first_gpu + node.gpus;
    };
    const bool alone = place.gpus.empty() && place.node == core::NodeId(i);
    if (alone || std::any_of(place.gpus.begin(), place.gpus.end(), here)) {
      request.nodes.push_back(node.name);
    }
  }
  for (const GpuId gpu : place.gpus) request.gpus.push_back(gpus_[gpu.index()]);
}

std::vector<GpuId> LiveNodes::GpusOf(const RunRequest& request) const {
  std::vector<GpuId> found;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (HasItem(request.gpus, gpus_[i])) found.emplace_back(i);
  }
  return found;
}

core::NodeId LiveNodes::NodeOf(const RunRequest& request) const {
  core::NodeId found;
  for (std::size_t i = 0; i < nodes_.size() && request.gpus.empty(); ++i) {
    if (HasItem(request.nodes, nodes_[i].name)) found = core::NodeId(i);
  }
  return found;
}

void LiveNodes::LoseGpu(const std::string& uuid) {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (gpus_[i].uuid == uuid) lost_.insert(GpuId(i));
  }
}

void LiveNodes::ReturnGpu(const std::string& uuid) {
  std::erase_if(lost_, [&](GpuId gpu) { return gpus_[gpu.index()].uuid == uuid; });
}

bool LiveNodes::Come(const RunnerNode& node) {
  Known* known = Find(node.name);
  if (known == nullptr) return offered_.insert(node.name).second;
  const auto first = gpus_.begin() + static_cast<std::ptrdiff_t>(known->first_gpu);
  if (known->gpus != node.gpus.size()) return false;
  if (known->up && std::equal(node.gpus.begin(), node.gpus.end(), first)) return false;
  known->up = true;
  for (std::size_t i = 0; i < known->gpus; ++i) {
    gpus_[known->first_gpu + i] = node.gpus[i];  // a repaired one is another
    lost_.erase(GpuId(known->first_gpu + i));
  }
  return true;
}

bool LiveNodes::Go(const std::string& name) {
  Known* node = Find(name);
  if (node == nullptr || !std::exchange(node->up, false)) return false;
  for (std::size_t i = 0; i < node->gpus; ++i) lost_.insert(GpuId(node->first_gpu + i));
  return true;
}

bool LiveNodes::EndOffer(const std::string& name) { return offered_.erase(name) > 0; }

void LiveNodes::Add(const RunnerNode& node) {
  offered_.erase(node.name);
  nodes_.push_back({node.name, gpus_.size(), node.gpus.size(), true});
  gpus_.insert(gpus_.end(), node.gpus.begin(), node.gpus.end());
}

std::vector<std::string> LiveNodes::UpExcept(const std::vector<RunnerNode>& nodes) const {
  std::vector<std::string> names;
  for (const Known& node : nodes_) {
    const bool listed = std::any_of(nodes.begin(), nodes.end(),
                                    [&](const RunnerNode& one) { return one.name == node.name; });
    if (node.up && !listed) names.push_back(node.name);
  }
  return names;
}

}  // namespace sharewell::engine
