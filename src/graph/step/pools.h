// Pools: told operators that are counted with others, by how many elements they have. What is taken
// is not counted a second time. Private to step/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace sharewell::graph {

class Pool {
 public:
  // `op`: what it is taken from when it is taken.
  void Add(double elements, std::size_t op, double calls) {
    by_elements_[elements].push_back({op, calls});
  }
  // At most so many calls on so many elements, the first ones; how many there were. `left` is by
  // operator what remains of it.
  double Take(double elements, double calls, std::vector<double>& left) {
    const auto found = by_elements_.find(elements);
    if (found == by_elements_.end()) return 0;
    double taken = 0;
    for (Entry& entry : found->second) {
      const double part = std::min({entry.calls, calls - taken, left[entry.op]});
      if (part <= 0) continue;
      entry.calls -= part;
      left[entry.op] -= part;
      taken += part;
    }
    return taken;
  }

 private:
  struct Entry {
    std::size_t op = 0;
    double calls = 0;
  };
  std::map<double, std::vector<Entry>> by_elements_;
};

}  // namespace sharewell::graph
