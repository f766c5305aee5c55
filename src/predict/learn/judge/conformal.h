// Conformal calibration: turns a prediction into bounds that hold as often as they say (Vovk,
// Gammerman and Shafer, 2005), from the residuals of rows the regressor had not seen.
//
// For a level p the offset is the k-th smallest of n residuals, k = ceil((n + 1) p) for an upper
// bound (p >= 0.5) and floor((n + 1) p) for a lower one; so a new exchangeable row lies below an
// upper bound with probability p or more. Where n is too small for that (k > n or k < 1) the
// extreme residual is used, and the promise is only n / (n + 1).
//
// A family with enough residuals has offsets of its own. All others, and families never seen, get
// those of all residuals together; with `families_equal` each family weighs the same there, as a
// new family is as likely to be like one as like another (Dunn, Wasserman and Ramdas, 2023: K
// families and one more, so the mean of the families' distributions is read at p (K + 1) / K).
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::predict::learn {

// One row held out.
struct Residual {
  double value = 0;    // actual - predicted, both as logarithms
  std::string family;  // may be empty
  double scale = 1;    // how hard the row was (Regressor::Spread, say): offsets are in units of it
};

struct ConformalOptions {
  std::vector<core::Ratio> levels{0.05, 0.5, 0.95};
  std::size_t least_of_family = 20;  // at least 19: with fewer, 0.95 cannot be promised
  bool by_family = true;
  bool families_equal = false;
};

struct Conformal {
  std::vector<core::Ratio> levels;                    // ascending
  std::vector<double> pooled;                         // by level
  std::map<std::string, std::vector<double>> family;  // by level, of families with enough rows

  // What to add to the prediction's logarithm for levels[level]: the offset of the family, else the
  // pooled one, times the row's scale. REQUIRES level below levels.size().
  double Offset(std::size_t level, const std::string& family_name, double scale = 1) const;

  friend bool operator==(const Conformal&, const Conformal&) = default;
};

// An error where there are no residuals, one is no finite number, a scale is not above 0, or a
// level is not between 0 and 1.
core::Result<Conformal> Calibrate(std::span<const Residual> residuals,
                                  const ConformalOptions& options);

}  // namespace sharewell::predict::learn
