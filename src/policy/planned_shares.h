// PlannedShares: the jobs that a plan has put somewhere, and the share of the SMs that each has
// there. Most who are asked about are not among them: that is told by one bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace sharewell::policy {

class PlannedShares {
 public:
  void Set(core::JobId id, core::Ratio share) {
    if (id.index() >= among_.size()) among_.resize(id.index() + 1);
    among_[id.index()] = true;
    shares_[id.value] = share;
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
  core::Ratio share(core::JobId id) const { return shares_.at(id.value); }  // REQUIRES: Has(id)
  std::size_t size() const { return shares_.size(); }

 private:
  std::unordered_map<std::uint32_t, core::Ratio> shares_;  // by job
  std::vector<bool> among_;                                // by job
};

}  // namespace sharewell::policy
