// StartsScore: how good expected starts were, told at submission. Unknown is absent, never 0.
#pragma once

#include <cstddef>
#include <optional>

namespace sharewell::simulation {

struct StartsScore {
  std::size_t scored = 0;  // jobs that waited over a minute and were looked at
  std::size_t told = 0;    // of those: an expected start was told
  // Of those told: |told - real| over the real wait.
  std::optional<double> error_median, error_p90;
  bool sampled = false;  // not every job was looked at

  friend bool operator==(const StartsScore&, const StartsScore&) = default;
};

// With durations as the run's policy believes them; where it knows them; where nobody does.
struct StartsScores {
  StartsScore believed, known, unknown;

  friend bool operator==(const StartsScores&, const StartsScores&) = default;
};

}  // namespace sharewell::simulation
