// Renumbering: new ids for the jobs that stay, in the order of their old ones, so that ties break
// as before. The owner of a loop makes one between two turns, when most ids are of jobs that are
// over, and hands it to everybody who speaks of jobs by id: what they hold stays bounded by the
// jobs that there are.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace sharewell::core {

class Renumbering {
 public:
  // `stays`: by old id.
  explicit Renumbering(const std::vector<bool>& stays) : new_id_(stays.size()) {
    for (std::size_t i = 0; i < stays.size(); ++i) {
      if (stays[i]) new_id_[i] = JobId(staying_++);
    }
  }

  // Not valid: it does not stay, or there was none.
  JobId Of(JobId old) const {
    return old.index() < new_id_.size() ? new_id_[old.index()] : JobId();
  }
  std::size_t before() const { return new_id_.size(); }
  std::size_t staying() const { return staying_; }

  // What was kept by old id is kept by the new one; all else goes, and its memory with it.
  template <class T>
  void Apply(std::vector<T>& by_id) const {
    std::vector<T> kept;
    kept.reserve(staying_);
    for (std::size_t i = 0; i < new_id_.size(); ++i) {
      if (new_id_[i].valid()) kept.push_back(std::move(by_id[i]));
    }
    by_id = std::move(kept);
  }

 private:
  std::vector<JobId> new_id_;  // by old id
  std::size_t staying_ = 0;
};

}  // namespace sharewell::core
