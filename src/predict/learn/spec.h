// Which learner, with which options: what a grid search chooses between.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"
#include "predict/learn/gaussian/gaussian.h"
#include "predict/learn/linear.h"
#include "predict/learn/trees/boosting.h"
#include "predict/learn/trees/forest.h"

namespace sharewell::predict::learn {

struct LearnerSpec;

// The mean of several learners' answers.
struct MeanOptions {
  std::vector<LearnerSpec> members;  // none of them a mean itself
  friend bool operator==(const MeanOptions&, const MeanOptions&);
};

struct LearnerSpec {
  std::variant<BoostingOptions, ForestOptions, LinearOptions, GaussianOptions, MeanOptions> options;

  // "boosted", "forest", "extra", "linear", "gaussian" or "mean".
  std::string_view Kind() const;
  // "boosted rounds=300 depth=4 ...": enough to tell the members of a grid apart.
  std::string Describe() const;
  // An error that names the option that no learner could follow.
  core::Result<void> Check() const;
  friend bool operator==(const LearnerSpec&, const LearnerSpec&) = default;
};

inline bool operator==(const MeanOptions& a, const MeanOptions& b) {
  return a.members == b.members;
}

// Every kind there is, in the order in which ties between them are broken.
std::span<const std::string_view> Kinds();

// A few sensible specs of a kind, simpler ones first; an error that lists the kinds for another.
core::Result<std::vector<LearnerSpec>> Grid(std::string_view kind);

}  // namespace sharewell::predict::learn
