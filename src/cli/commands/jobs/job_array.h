// `submit --array`: one submission made into many, by a grid of values.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/job/submission.h"
#include "core/result.h"

namespace sharewell::cli {

inline constexpr std::size_t kMostOfArray = 10'000;

struct Axis {
  std::string name;  // "lr", or "index" where none was given
  std::vector<std::string> values;
  std::optional<int> at_once = {};  // "%4" at its end: so many jobs of the array run at once
};

// "0-9", "1,3,5-8", "lr=0.1,0.01": each one axis, and one of them may end in %N. Two of the same
// name, or a grid of more than kMostOfArray, are refused.
core::Result<std::vector<Axis>> ParseAxes(const std::vector<std::string>& specs);

// The whole grid, the last axis fastest. "{NAME}" in words of the command, in the name and in
// values of the environment named in `given` becomes the value, "{index}" the place in the grid
// where no axis is called so; other braces stay. Each is named after its values, has
// $SHAREWELL_ARRAY_INDEX, and carries `id` in Submission::array. A named axis that nothing uses is
// an error: all would be the same.
core::Result<std::vector<core::Submission>> Expand(const core::Submission& one,
                                                   const std::vector<Axis>& axes,
                                                   const std::vector<std::string>& given,
                                                   const std::string& id);

}  // namespace sharewell::cli
