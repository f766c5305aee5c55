// What the readers of model files have in common (json/reader.h reads them): nobody vouches for
// such a file, and whatever is wrong with it, the remedy is the same.
#pragma once

#include <string_view>

#include "core/result.h"

namespace sharewell::predict::learn {

// Numbers a model multiplies and adds stay below this, so that its answers stay finite.
constexpr double kLargest = 1e100;

// `what` was read: "learned model".
inline tl::unexpected<core::Error> Damaged(std::string_view what, std::string_view wrong) {
  return core::UsageError("the {} is damaged: {}: `sharewell-lab train` makes a new one", what,
                          wrong);
}

}  // namespace sharewell::predict::learn
