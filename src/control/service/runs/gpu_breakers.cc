#include "control/service/runs/gpu_breakers.h"

#include <algorithm>

#include "core/job/submission.h"

namespace sharewell::control {
namespace {

using core::JobRecord;
using core::Phase;

std::string KeyOf(const JobRecord& job) {
  return core::OwnedKey(job.user.name, core::WorkloadKey(job.asked));
}

}  // namespace

bool AreOfOneKind(const JobRecord& a, const JobRecord& b) { return KeyOf(a) == KeyOf(b); }

void GpuBreakers::Restore(std::span<const JobRecord> over, std::span<const JobRecord> live) {
  // One that has finished well in the end has shown that it can, like any other of its kind.
  std::map<std::string, core::UnixMillis> broke;
  const auto add = [&](const JobRecord& job) {
    if (!job.broke_gpu || job.phase == Phase::kFinished) return;
    const std::string key = KeyOf(job);
    broken_[key] = job.number;
    broke[key] = std::max(broke[key], job.ended.value_or(job.submitted));
  };
  for (const JobRecord& job : over) add(job);
  for (const JobRecord& job : live) add(job);
  if (broken_.empty()) return;
  for (const JobRecord& job : over) {
    if (job.phase != Phase::kFinished) continue;
    const auto found = broke.find(KeyOf(job));
    if (found == broke.end() || job.ended.value_or(0) <= found->second) continue;
    broken_.erase(found->first);
  }
  // Whatever finished: nobody knows when one that is not over yet broke its GPU.
  for (const JobRecord& job : live) {
    if (job.broke_gpu) broken_[KeyOf(job)] = job.number;
  }
}

bool GpuBreakers::TakeEnd(const JobRecord& job, bool broke) {
  if (broke) return broken_.emplace(KeyOf(job), job.number).second;
  if (broken_.empty() || job.phase != Phase::kFinished) return false;
  return broken_.erase(KeyOf(job)) > 0;
}

std::optional<std::int64_t> GpuBreakers::BrokenBy(const JobRecord& job) const {
  if (broken_.empty()) return std::nullopt;
  const auto found = broken_.find(KeyOf(job));
  return found == broken_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace sharewell::control
