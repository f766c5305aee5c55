// Refusal: why somebody may not do what they asked for, as an HTTP status and words for them.
#pragma once

#include <string>

#include "core/result.h"

namespace sharewell::api {

struct Refusal {
  int status = 403;
  std::string words;
};
template <class T>
using Allowed = tl::expected<T, Refusal>;

}  // namespace sharewell::api
