// Numbers from text that a user or a client wrote. Every error names the flag or key, quotes the
// value and says what is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::core {

// A plain decimal number and nothing else; absent: it is none, or is not finite.
std::optional<double> FiniteNumber(std::string_view text);

// A plain decimal number, both ends allowed. No blanks, no signs but '-', nothing after it.
Result<double> ParseNumber(std::string_view flag, std::string_view text, double least, double most);
Result<std::uint64_t> ParseWhole(std::string_view flag, std::string_view text, std::uint64_t least,
                                 std::uint64_t most);

// Seconds, 90s, 15m, 12h, 3d, or as Slurm's users write times: "1:30:00", "2-12:00:00" (days).
// Absent: it is none, or below 0.
std::optional<Seconds> TimeFrom(std::string_view text);

// "8GB", "512 MiB", or bytes; absent: it is none.
std::optional<Bytes> ParseMemory(std::string_view text);

}  // namespace sharewell::core
