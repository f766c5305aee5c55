#include "policy/project_standing.h"

#include <cstddef>

#include "core/projects.h"

namespace sharewell::policy {

ProjectStanding::ProjectStanding(const core::Snapshot& snapshot,
                                 std::span<const core::Ratio> shares) {
  if (shares.empty()) return;
  left_ = core::GpusInUse(snapshot, shares.size());
  const double gpus = static_cast<double>(snapshot.cluster().gpu_count());
  for (std::size_t p = 0; p < shares.size(); ++p) left_[p] = shares[p] * gpus - left_[p];
}

std::vector<bool> HaveShare(const core::Snapshot& snapshot, std::span<const core::Ratio> shares) {
  const ProjectStanding standing(snapshot, shares);
  std::vector<bool> have;
  for (std::size_t p = 0; p < shares.size(); ++p) {
    have.push_back(standing.Has(static_cast<std::uint32_t>(p)));
  }
  return have;
}

}  // namespace sharewell::policy
