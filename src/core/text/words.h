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
// "512 B", "1.5 GiB": memory in powers of 1024 everywhere, as nvidia-smi counts it and as makers
// name their cards. REQUIRES: a finite number.
std::string SizeText(Bytes bytes);
// "4.8 TB/s": by thousands, as datasheets have it. REQUIRES: a finite number.
std::string RateText(BytesPerSecond rate);

}  // namespace sharewell::core
