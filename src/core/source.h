// Source: whom a figure of a job is from. The weakest first, so that the smaller of two is that of
// what was made from both.
#pragma once

#include <string_view>

namespace sharewell::core {

enum class Source { kAssumed, kPredicted, kMeasured };
std::string_view NameOf(Source source);  // "measured", "predicted", "assumed"

}  // namespace sharewell::core
