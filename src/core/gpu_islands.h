// GpuIslands: which GPUs of a node are near each other. An island is a set of GPUs that reach each
// other without what lies between islands: over NVLink, below one PCIe switch, on one processor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::core {

class GpuIslands {
 public:
  static constexpr int kMostGpus = 64;  // of a node whose islands are told

  GpuIslands() = default;  // nothing is known: all are equally near

  // "0,1|2,3" or, with the islands that such islands lie in, "0,1|2,3|4,5|6,7/0-3|4-7": the nearest
  // level first. A GPU that a level does not name is an island of its own. An error: a text that
  // is none of these, a GPU that the node does not have, an island in two islands.
  static Result<GpuIslands> Parse(std::string_view text, int gpus);

  // How far GPU i is from GPU j, 0 the nearest; what is as near as that is one island on that
  // level. Levels that divide nothing, or everything, are left out. REQUIRES: a square, symmetric.
  static GpuIslands FromDistances(const std::vector<std::vector<int>>& distances);

  // Of these GPUs alone, which are numbered anew in this order. REQUIRES: those are of the node.
  GpuIslands Of(const std::vector<int>& gpus) const;

  bool known() const { return !levels_.empty(); }
  // How many levels divide them: 0 in one island of the nearest level.
  int Distance(int a, int b) const;
  // What Parse reads; empty where nothing is known.
  std::string Text() const;

  friend bool operator==(const GpuIslands&, const GpuIslands&) = default;

 private:
  using Level = std::vector<int>;  // by GPU: the lowest GPU of its island

  void AddUnlessPlain(const Level& level);

  std::vector<Level> levels_;
};

}  // namespace sharewell::core
