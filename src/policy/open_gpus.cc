#include "policy/open_gpus.h"

#include <algorithm>

namespace sharewell::policy {

using core::GpuId;

namespace {
// Most starts take one of the roomiest away: so many are looked for at once.
constexpr std::size_t kAtHand = 64;
}  // namespace

void OpenGpus::Set(GpuId gpu, double room) {
  const double before = room_[gpu.index()];
  if (before == room) return;
  room_.Set(gpu.index(), room);
  if (first_.empty() && !all_) return;
  const Entry old{before, gpu}, fresh{room, gpu};
  if (!first_.empty() && !(first_.back() < old)) {
    first_.erase(std::lower_bound(first_.begin(), first_.end(), old));
  }
  if (room == kClosed || (!all_ && (first_.empty() || first_.back() < fresh))) return;
  first_.insert(std::lower_bound(first_.begin(), first_.end(), fresh), fresh);
  if (first_.size() > 2 * kAtHand) {
    first_.pop_back();
    all_ = false;
  }
}

std::vector<GpuId> OpenGpus::Roomiest(std::size_t count) const {
  if (first_.size() < count && !all_) {
    const std::size_t wanted = std::max(count, kAtHand);
    first_.clear();
    for (const std::size_t gpu : room_.Largest(wanted)) first_.push_back({room_[gpu], GpuId(gpu)});
    all_ = first_.size() < wanted;
  }
  std::vector<GpuId> gpus;
  gpus.reserve(std::min(count, first_.size()));
  for (const Entry& entry : first_) {
    if (gpus.size() == count) break;
    gpus.push_back(entry.gpu);
  }
  return gpus;
}

}  // namespace sharewell::policy
