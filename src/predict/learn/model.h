// What a learner learnt: one value type over all of them. Immutable, pure, and free to copy; the
// same spec and table give the same regressor, bit for bit, on every machine.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "predict/learn/gaussian/gaussian.h"
#include "predict/learn/linear.h"
#include "predict/learn/spec.h"
#include "predict/learn/table.h"
#include "predict/learn/trees/tree_ensemble.h"

namespace sharewell::predict::learn {

// As many answers as members, averaged; none of them an average itself.
struct MeanModel {
  using Member = std::variant<TreeEnsemble, Linear, Gaussian>;
  std::vector<Member> members;
  friend bool operator==(const MeanModel&, const MeanModel&) = default;
};

class Regressor {
 public:
  using Model = std::variant<TreeEnsemble, Linear, Gaussian, MeanModel>;

  // REQUIRES a model of these features, with at least one member where it is a mean.
  Regressor(std::vector<std::string> features, Model model);

  // REQUIRES one value a feature, in the order of features(); NaN where it is not known.
  double Predict(std::span<const double> row) const;

  // How far off the answer may be, as a standard deviation in the target's unit: how much bags,
  // trees or members differ, or the Gaussian process's own word. Comparable between rows of one
  // regressor, no promise of coverage (conformal.h gives that). Absent where nothing differs: one
  // booster, a linear model.
  std::optional<double> Spread(std::span<const double> row) const;

  // One share a feature; they sum to 1, or are all 0 where nothing was learnt.
  std::vector<double> Importance() const;

  const std::vector<std::string>& features() const { return features_; }
  const Model& model() const { return model_; }
  friend bool operator==(const Regressor&, const Regressor&) = default;

 private:
  std::vector<std::string> features_;
  Model model_;
};

// An error where the table or the spec cannot be used (their Check()).
core::Result<Regressor> Fit(const LearnerSpec& spec, const Table& table);

}  // namespace sharewell::predict::learn
