// How fast one job goes beside another where nothing is known of either but its name, its batch and
// its rate alone: tables of throughputs, as Gavel's. Kriged from the pairs that were measured.
// A value; pure; of one GPU model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "predict/colocation/kriging.h"

namespace sharewell::predict {

struct NamedJob {
  std::string model;  // "ResNet-18"
  int batch = 1;
  double rate = 1;  // alone, in steps a second; above 0
  friend bool operator==(const NamedJob&, const NamedJob&) = default;
};

struct NamedSpeed {
  NamedJob job, neighbour;
  core::Ratio speed = 1;  // of the job, over its rate alone
};

class ColocationByName {
 public:
  // Two numbers of one pair are two measurements. An error where there is none, or one cannot be a
  // speed or a rate.
  static core::Result<ColocationByName> Fit(std::vector<NamedSpeed> measured);

  // From interference::kSlowest to 1.
  core::Ratio Speed(const NamedJob& job, const NamedJob& neighbour) const;

 private:
  std::vector<NamedSpeed> measured_;
  double mean_ = 1;
  Kriging around_mean_;
};

}  // namespace sharewell::predict
