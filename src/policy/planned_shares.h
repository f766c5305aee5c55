// PlannedShares: the jobs that a plan has put somewhere, with the part of the GPU that each may use
// there. Most who are asked about are not among them: that is told by one bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/plan.h"
#include "core/units.h"

namespace sharewell::policy {

class PlannedShares {
 public:
  void Set(core::JobId id, const core::Allocation& to) {
    if (id.index() >= among_.size()) among_.resize(id.index() + 1);
    among_[id.index()] = true;
    shares_[id.value] = {to.sm_share, to.guest_memory};
  }
  void Erase(core::JobId id) {
    if (Has(id)) among_[id.index()] = false;
    shares_.erase(id.value);
  }
  void Clear() {
    for (const auto& [job, share] : shares_) among_[job] = false;
    shares_.clear();
  }
  bool Has(core::JobId id) const { return id.index() < among_.size() && among_[id.index()]; }
  // REQUIRES: Has(id)
  core::Ratio share(core::JobId id) const { return shares_.at(id.value).sm; }
  const std::optional<core::Bytes>& guest_memory(core::JobId id) const {
    return shares_.at(id.value).guest_memory;
  }
  std::size_t size() const { return shares_.size(); }

 private:
  struct Share {
    core::Ratio sm = 1;
    std::optional<core::Bytes> guest_memory;
  };
  std::unordered_map<std::uint32_t, Share> shares_;  // by job
  std::vector<bool> among_;                          // by job
};

}  // namespace sharewell::policy
