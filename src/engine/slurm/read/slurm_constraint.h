// SlurmConstraint: which nodes a job's --constraint allows, node by node, as Slurm reads it: names
// of features with & or , (both) and | (either) between them, from left to right, in ( ) groups,
// and [a|b|c], of which all nodes of a job have the same one. Pure.
//
// "a*2" asks for a number of nodes: it says something of each node only where it is as many as the
// job has.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::engine {

class SlurmConstraint {
 public:
  // `nodes`: of the job. Absent: there is none, or it cannot be read; Slurm alone looks at it then.
  static std::optional<SlurmConstraint> Parse(std::string_view text, int nodes);

  // The ways in which nodes may be alike: those of [a|b|c] where the job has several nodes, else
  // one.
  std::size_t ways() const { return ways_; }
  // REQUIRES: way < ways().
  bool Allows(const std::vector<std::string>& features, std::size_t way = 0) const;

 private:
  struct Term {
    enum class Kind : unsigned char { kFeature, kAnything, kGroup, kOneOf };
    Kind kind = Kind::kFeature;
    bool either = false;  // it follows a |
    std::string feature;
    std::vector<Term> terms;  // of a group
  };
  class Reader;
  static bool Holds(const std::vector<Term>& terms, const std::vector<std::string>& features,
                    std::optional<std::size_t> way);

  std::vector<Term> terms_;
  std::size_t ways_ = 1;
};

}  // namespace sharewell::engine
