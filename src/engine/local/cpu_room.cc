#include "engine/local/cpu_room.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "platform/process/cpu_set.h"

namespace sharewell::engine {
namespace {

constexpr double kDust = 1e-9;  // of a CPU: sums of shares must not leave it behind

bool SameCore(const platform::CpuPlace& a, const platform::CpuPlace& b) {
  return a.node == b.node && a.package == b.package && a.core == b.core;
}

}  // namespace

CpuRoom::CpuRoom(Layout layout) : layout_(std::move(layout)) {
  std::sort(layout_.cpus.begin(), layout_.cpus.end(),
            [](const auto& a, const auto& b) { return a.cpu < b.cpu; });
  for (const platform::CpuPlace& place : layout_.cpus) {
    cpus_.push_back({place});
    all_.push_back(place.cpu);
  }
}

CpuRoom::Layout CpuRoom::LayoutHere(std::vector<int> gpu_nodes, const std::string& root) {
  Layout layout;
  layout.cpus = platform::CpuPlaces(platform::AllowedCpus(), root);
  layout.gpu_nodes = std::move(gpu_nodes);
  layout.distance = platform::NumaDistances(root);
  return layout;
}

int CpuRoom::Distance(int a, int b) const {
  const auto row = layout_.distance.find(a);
  if (row != layout_.distance.end()) {
    const auto cell = row->second.find(b);
    if (cell != row->second.end()) return cell->second;
  }
  return a == b ? 10 : 20;
}

int CpuRoom::Farness(const Held& held, int node) const {
  if (held.gpu) return held.node ? Distance(*held.node, node) : 0;
  // The nearer a GPU is, the sooner a job with GPUs will want it.
  int nearest = std::numeric_limits<int>::max();
  for (const int gpu_node : layout_.gpu_nodes) {
    nearest = std::min(nearest, Distance(gpu_node, node));
  }
  return layout_.gpu_nodes.empty() ? 0 : -nearest;
}

// One CPU at a time, the best of what is left.
void CpuRoom::Grow(Held& held) {
  double has = 0;
  for (const auto& [index, part] : held.parts) has += part;
  double wanted = held.cores - has;
  // What it has of a CPU alone may become all of it.
  for (auto& [index, part] : held.parts) {
    Cpu& cpu = cpus_[static_cast<std::size_t>(index)];
    const double more = std::min({wanted, 1 - part, 1 - cpu.used});
    if (more <= kDust) continue;
    part += more;
    cpu.used += more;
    wanted -= more;
  }
  while (wanted > kDust && held.parts.size() < cpus_.size()) {
    const double part = std::min(wanted, 1.0);
    std::map<int, int> free_in;                        // CPUs of a node that nobody uses
    std::map<std::tuple<int, int, int>, int> threads;  // in use, by core
    std::map<int, int> mine_in;                        // this run's own, by node
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      const platform::CpuPlace& place = cpus_[i].place;
      const bool mine = held.parts.contains(static_cast<int>(i));
      if (cpus_[i].used <= kDust) ++free_in[place.node];
      if (mine) ++mine_in[place.node];
      if (cpus_[i].used > kDust) ++threads[{place.node, place.package, place.core}];
    }
    int best = -1;
    std::tuple<bool, double, int, int, int, int, int> best_key;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      if (held.parts.contains(static_cast<int>(i))) continue;
      const Cpu& cpu = cpus_[i];
      const platform::CpuPlace& place = cpu.place;
      const bool crowded = cpu.used + part > 1 + kDust;
      // A part of a core goes where parts of others are already, so that whole CPUs stay free.
      const int opens = part < 1 - kDust && !crowded && cpu.used <= kDust ? 1 : 0;
      // One node before the next, the one with most room first.
      const int preference =
          mine_in[place.node] * static_cast<int>(cpus_.size() + 1) + free_in[place.node];
      const std::tuple key(crowded, crowded ? cpu.used : 0.0, Farness(held, place.node), opens,
                           -preference, threads[{place.node, place.package, place.core}],
                           place.cpu);
      if (best < 0 || key < best_key) {
        best = static_cast<int>(i);
        best_key = key;
      }
    }
    held.parts[best] = part;
    cpus_[static_cast<std::size_t>(best)].used += part;
    wanted -= part;
  }
}

// Gives back what it should have last: crowded, far and high.
void CpuRoom::Shrink(Held& held) {
  double has = 0;
  for (const auto& [index, part] : held.parts) has += part;
  double surplus = has - held.cores;
  while (surplus > kDust && !held.parts.empty()) {
    auto worst = held.parts.begin();
    const auto key = [&](const auto& one) {
      const Cpu& cpu = cpus_[static_cast<std::size_t>(one.first)];
      int siblings = 0;
      for (const Cpu& other : cpus_) {
        siblings += other.used > kDust && SameCore(other.place, cpu.place) ? 1 : 0;
      }
      return std::tuple(cpu.used > 1 + kDust, Farness(held, cpu.place.node), siblings, one.first);
    };
    for (auto it = held.parts.begin(); it != held.parts.end(); ++it) {
      if (key(*it) > key(*worst)) worst = it;
    }
    const double less = std::min(surplus, worst->second);
    Cpu& cpu = cpus_[static_cast<std::size_t>(worst->first)];
    cpu.used = std::max(0.0, cpu.used - less);
    if (cpu.used < kDust) cpu.used = 0;
    worst->second -= less;
    surplus -= less;
    if (worst->second <= kDust) held.parts.erase(worst);
  }
}

std::vector<int> CpuRoom::IdsOf(const Held& held) const {
  std::vector<int> ids;
  for (const auto& [index, part] : held.parts) {
    ids.push_back(cpus_[static_cast<std::size_t>(index)].place.cpu);
  }
  return ids.empty() ? all_ : ids;
}

std::vector<int> CpuRoom::Take(RunId id, double cores, bool gpu, std::optional<int> node) {
  Held& held = held_[id];
  held.cores = std::isfinite(cores) ? std::max(cores, 0.0) : 0;
  held.gpu = gpu;
  held.node = node;
  Grow(held);
  return IdsOf(held);
}

std::vector<int> CpuRoom::Resize(RunId id, double cores) {
  const auto it = held_.find(id);
  if (it == held_.end()) return all_;
  it->second.cores = std::isfinite(cores) ? std::max(cores, 0.0) : 0;
  Shrink(it->second);
  Grow(it->second);
  return IdsOf(it->second);
}

void CpuRoom::Claim(RunId id, const std::vector<int>& cpus, double cores, bool gpu,
                    std::optional<int> node) {
  Held& held = held_[id];
  held.cores = std::isfinite(cores) ? std::max(cores, 0.0) : 0;
  held.gpu = gpu;
  held.node = node;
  double left = held.cores;
  for (std::size_t i = 0; i < cpus_.size() && left > kDust; ++i) {
    if (std::find(cpus.begin(), cpus.end(), cpus_[i].place.cpu) == cpus.end()) continue;
    const double part = std::min(left, 1.0);
    held.parts[static_cast<int>(i)] = part;
    cpus_[i].used += part;
    left -= part;
  }
}

std::vector<int> CpuRoom::Spare() const {
  std::vector<int> ids;
  for (const Cpu& cpu : cpus_) {
    if (cpu.used <= kDust) ids.push_back(cpu.place.cpu);
  }
  return ids;
}

std::vector<int> CpuRoom::Own(RunId id) const {
  const auto it = held_.find(id);
  if (it == held_.end() || it->second.parts.empty()) return {};
  return IdsOf(it->second);
}

void CpuRoom::Return(RunId id) {
  const auto it = held_.find(id);
  if (it == held_.end()) return;
  it->second.cores = 0;
  Shrink(it->second);
  held_.erase(it);
}

}  // namespace sharewell::engine
