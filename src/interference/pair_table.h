// PairTable: what was measured of two workloads on one GPU. A measured pair overrides the model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace sharewell::interference {

// Shares of the SMs are told apart by whole percents.
int SharePercent(core::Ratio share);

class PairTable {
 public:
  PairTable() = default;
  PairTable(std::size_t gpu_models, std::size_t workloads);
  // For those workloads alone, of any number of them: others have no pairs. Takes memory for those
  // alone too, however large their ids are.
  PairTable(std::size_t gpu_models, std::span<const core::WorkloadId> workloads);

  // Records both directions, or the one that is known. Speeds are over the workload alone on that
  // GPU model with all SMs, capped at 1: what a repeat measures above it is noise. The shares are
  // those of the SMs that each was limited to, told apart by whole percents. A pair measured again
  // is averaged.
  void Add(core::GpuModelId model, core::WorkloadId a, core::WorkloadId b,
           std::optional<core::Ratio> speed_a, std::optional<core::Ratio> speed_b,
           core::Ratio sm_share_a = 1, core::Ratio sm_share_b = 1);
  // Whatever their shares: these limit SMs, not memory.
  void AddUnfit(core::GpuModelId model, core::WorkloadId a, core::WorkloadId b);

  // How fast `a` runs beside `b`; absent where it was not measured with these shares or did not
  // fit.
  std::optional<core::Ratio> Speed(core::GpuModelId model, core::WorkloadId a, core::WorkloadId b,
                                   core::Ratio sm_share_a = 1, core::Ratio sm_share_b = 1) const;
  // The same by whole percents of the SMs.
  std::optional<core::Ratio> SpeedAt(core::GpuModelId model, core::WorkloadId a, core::WorkloadId b,
                                     int percent_a, int percent_b) const;
  // False only where the pair was seen to run out of memory.
  bool Fits(core::GpuModelId model, core::WorkloadId a, core::WorkloadId b) const;
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    float sum = 0;
    int count = 0;  // -1: does not fit
  };
  // Absent for ids outside the table: a workload that was never measured in a pair.
  const Entry* Find(core::GpuModelId model, core::WorkloadId a, core::WorkloadId b) const;
  Entry& At(core::GpuModelId model, core::WorkloadId a, core::WorkloadId b);
  std::size_t SlotOf(core::WorkloadId id) const;
  // Place in entries_, whole percents of a's share and of b's.
  using Limited = std::tuple<std::size_t, int, int>;

  std::size_t models_ = 0;
  std::size_t workloads_ = 0;
  // Its place is a workload's slot; by id. Absent: a workload's number is its slot.
  std::optional<std::vector<core::WorkloadId>> slots_;
  std::vector<Entry> entries_;        // with all SMs
  std::map<Limited, Entry> limited_;  // where a share was less
};

}  // namespace sharewell::interference
