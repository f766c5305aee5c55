// PerfSet: the six events summed over several targets (all CPUs, or a job's threads), scaled up
// where the kernel took turns, as totals that only rise and as what was added last.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <vector>

#include "collect/host/perf/perf_counters.h"

namespace sharewell::collect {

class PerfSet {
 public:
  // Both outlive it.
  PerfSet(PerfCounters& counters, const PerfTable& table) : counters_(counters), table_(table) {}
  PerfSet(const PerfSet&) = delete;
  PerfSet& operator=(const PerfSet&) = delete;
  ~PerfSet();

  // False: none of the events can be counted there; error() says why.
  bool Add(const PerfTarget& target);
  // A target that cannot be read any more is given up; what it counted stays in the totals.
  void Read();

  bool empty() const { return targets_.empty(); }
  std::size_t size() const { return targets_.size(); }
  const std::set<int>& cpus() const { return cpus_; }  // of the targets
  int error() const { return error_; }
  bool user_only() const { return user_only_; }
  bool Counts(PerfEvent event) const { return counted_[event]; }

  // Since it began. None: not counted.
  std::optional<double> Total(PerfEvent event) const;
  // Between the last two readings. None: not known.
  std::optional<double> Added(PerfEvent event) const;
  // Of the same time: the event that ran least. 1: nothing was scaled.
  std::optional<double> RunningRatio() const;

 private:
  struct Target {
    int cpu = -1;
    // Two groups, so that each fits beside the other users of the processor's counters.
    std::array<PerfOpened, 2> groups;
    std::array<PerfCount, kPerfEvents> last{};
  };

  bool ReadTarget(Target& target);

  PerfCounters& counters_;
  const PerfTable& table_;
  std::vector<Target> targets_;
  std::set<int> cpus_;
  std::array<bool, kPerfEvents> counted_{};
  std::array<double, kPerfEvents> total_{}, added_{}, enabled_{}, running_{};
  int readings_ = 0;
  int error_ = 0;
  bool user_only_ = false;
};

}  // namespace sharewell::collect
