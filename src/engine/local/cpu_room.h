// CpuRoom: which CPUs each run has to itself. Not tied to a thread; one at a time.
//
// A run is given CPUs by NUMA distance to its GPU, on cores that nobody else uses before the second
// thread of one that somebody does. CPU-only runs take what is furthest from the GPUs. Runs do not
// overlap as long as there is room, except that parts of a core share a CPU up to a whole one.
// Where more is asked than is there, the least used are shared. What nobody was given is Spare: the
// runner lends it to runs with GPUs, for what they were given is what they cannot do without.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/runner.h"
#include "platform/machine/cpu_topology.h"

namespace sharewell::engine {

class CpuRoom {
 public:
  struct Layout {
    std::vector<platform::CpuPlace> cpus;
    std::map<int, std::map<int, int>> distance;  // node to node; what is not there: 10 or 20
    std::vector<int> gpu_nodes;                  // where GPUs sit, each once
  };
  explicit CpuRoom(Layout layout);

  // Of the CPUs that we may use, by /sys below `root`.
  static Layout LayoutHere(std::vector<int> gpu_nodes, const std::string& root = "/");

  // CPU ids, rising. Parts of a core are rounded up; 0 cores or less: not bounded, all CPUs, and
  // nothing is counted. More than there are: all. REQUIRES: has none yet.
  // `gpu`: it has GPUs; `node`: where the first of them sits, absent: not known.
  std::vector<int> Take(RunId id, double cores, bool gpu, std::optional<int> node);
  // Keeps what it has as far as that goes.
  std::vector<int> Resize(RunId id, double cores);
  // These exactly: found running after a restart. CPUs that are not ours are left out.
  void Claim(RunId id, const std::vector<int>& cpus, double cores, bool gpu,
             std::optional<int> node);
  void Return(RunId id);  // unknown: nothing happens

  std::vector<int> Spare() const;        // that nobody has any of, rising
  std::vector<int> Own(RunId id) const;  // rising; empty: unknown, or not bounded

  const std::vector<int>& all() const { return all_; }

 private:
  struct Cpu {
    platform::CpuPlace place;
    double used = 0;  // of it, by all; above 1 it is over-committed
  };
  struct Held {
    double cores = 0;
    bool gpu = false;
    std::optional<int> node;
    std::map<int, double> parts;  // index of a CPU -> how much of it
  };

  int Distance(int a, int b) const;
  // How far a CPU on `node` is from where the run would best be.
  int Farness(const Held& held, int node) const;
  void Grow(Held& held);
  void Shrink(Held& held);
  std::vector<int> IdsOf(const Held& held) const;

  Layout layout_;
  std::vector<Cpu> cpus_;
  std::vector<int> all_;
  std::map<RunId, Held> held_;
};

}  // namespace sharewell::engine
