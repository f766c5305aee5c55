#include "interference/pair_table.h"

#include <algorithm>
#include <cmath>

#include "core/result.h"

namespace sharewell::interference {

using core::GpuModelId;
using core::Ratio;
using core::WorkloadId;

int SharePercent(Ratio share) {
  return static_cast<int>(std::lround(100 * std::clamp(share, 0.0, 1.0)));
}

PairTable::PairTable(std::size_t gpu_models, std::size_t workloads)
    : models_(gpu_models), workloads_(workloads), entries_(gpu_models * workloads * workloads) {}

PairTable::PairTable(std::size_t gpu_models, std::span<const WorkloadId> workloads)
    : PairTable(gpu_models, workloads.size()) {
  slots_.emplace(workloads.begin(), workloads.end());
  std::sort(slots_->begin(), slots_->end());
}

std::size_t PairTable::SlotOf(WorkloadId id) const {
  if (!slots_) return id.index();
  const auto found = std::lower_bound(slots_->begin(), slots_->end(), id);
  if (found == slots_->end() || *found != id) return WorkloadId::kNone;
  return static_cast<std::size_t>(found - slots_->begin());
}

PairTable::Entry& PairTable::At(GpuModelId model, WorkloadId a, WorkloadId b) {
  const std::size_t of_a = SlotOf(a);
  const std::size_t of_b = SlotOf(b);
  SHAREWELL_CHECK(model.index() < models_ && of_a < workloads_ && of_b < workloads_);
  return entries_[(model.index() * workloads_ + of_a) * workloads_ + of_b];
}

const PairTable::Entry* PairTable::Find(GpuModelId model, WorkloadId a, WorkloadId b) const {
  const std::size_t of_a = SlotOf(a);
  const std::size_t of_b = SlotOf(b);
  if (model.index() >= models_ || of_a >= workloads_ || of_b >= workloads_) return nullptr;
  return &entries_[(model.index() * workloads_ + of_a) * workloads_ + of_b];
}

void PairTable::Add(GpuModelId model, WorkloadId a, WorkloadId b, std::optional<Ratio> speed_a,
                    std::optional<Ratio> speed_b, Ratio sm_share_a, Ratio sm_share_b) {
  const int of_a = SharePercent(sm_share_a);
  const int of_b = SharePercent(sm_share_b);
  const auto add = [&](WorkloadId who, WorkloadId beside, int its, int others,
                       std::optional<Ratio> speed) {
    if (!speed) return;
    Entry* entry = &At(model, who, beside);
    if (entry->count < 0) return;
    if (its < 100 || others < 100) {
      entry = &limited_[{static_cast<std::size_t>(entry - entries_.data()), its, others}];
    }
    entry->sum += static_cast<float>(std::clamp(*speed, 0.0, 1.0));
    ++entry->count;
  };
  add(a, b, of_a, of_b, speed_a);
  // A workload beside itself is one entry: both halves are two measurements of the same thing.
  add(b, a, of_b, of_a, speed_b);
}

void PairTable::AddUnfit(GpuModelId model, WorkloadId a, WorkloadId b) {
  At(model, a, b).count = -1;
  At(model, b, a).count = -1;
}

std::optional<Ratio> PairTable::Speed(GpuModelId model, WorkloadId a, WorkloadId b,
                                      Ratio sm_share_a, Ratio sm_share_b) const {
  return SpeedAt(model, a, b, SharePercent(sm_share_a), SharePercent(sm_share_b));
}

std::optional<Ratio> PairTable::SpeedAt(GpuModelId model, WorkloadId a, WorkloadId b, int percent_a,
                                        int percent_b) const {
  const Entry* entry = Find(model, a, b);
  if (entry == nullptr || entry->count < 0) return std::nullopt;
  if (percent_a < 100 || percent_b < 100) {
    const auto found =
        limited_.find({static_cast<std::size_t>(entry - entries_.data()), percent_a, percent_b});
    if (found == limited_.end()) return std::nullopt;
    entry = &found->second;
  }
  if (entry->count <= 0) return std::nullopt;
  return entry->sum / static_cast<float>(entry->count);
}

bool PairTable::Fits(GpuModelId model, WorkloadId a, WorkloadId b) const {
  const Entry* entry = Find(model, a, b);
  return entry == nullptr || entry->count >= 0;
}

}  // namespace sharewell::interference
