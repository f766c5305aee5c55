// Amounts as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/units.h"

namespace sharewell::core {

// "1 job", "3 jobs", "2 families" (with `many` where the plural is not `one` and an s).
std::string Count(std::uint64_t n, std::string_view one, std::string_view many = {});
// "1 core", "1.5 cores".
std::string Cores(double cores);
// "512 B", "1.5 GB": by thousands. REQUIRES: a finite number.
std::string SizeText(Bytes bytes);

}  // namespace sharewell::core
