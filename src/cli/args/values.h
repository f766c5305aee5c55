// Flag values from text. Every error names the flag, shows the value and says what is allowed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/text/parse_number.h"
#include "core/units.h"

namespace sharewell::cli {

using core::ParseNumber;
using core::ParseWhole;

// Seconds, or 90s, 15m, 12h, 3d; at most so many days.
core::Result<core::Seconds> ParseTime(std::string_view flag, std::string_view text, int most_days);

// The same, but never a number alone: of how long a job may run Slurm takes it for minutes, others
// for seconds.
core::Result<core::Seconds> ParseTimeWithUnit(std::string_view flag, std::string_view text,
                                              int most_days);

// 10GB, 512MiB: B, kB, MB, GB, TB by thousands; KiB, MiB, GiB, TiB by 1024; letters in either case.
// Never without a unit, and never just "10G", which programs take for either.
core::Result<core::Bytes> ParseBytes(std::string_view flag, std::string_view text);

// How long a job waits for the GPU model that suits it, in its own durations: 0 to 1000000, or
// "forever" (infinite).
core::Result<double> ParsePatience(std::string_view flag, std::string_view text);
std::string PatienceText();  // the default

// 60%: above 0 up to 100. Never without its sign: 1 may be meant as all or as a hundredth.
core::Result<core::Ratio> ParseShare(std::string_view flag, std::string_view text);

// "exact" is 0, "noisy:S" is S: every figure times exp(N(0, S)).
core::Result<double> ParseBelief(std::string_view flag, std::string_view text);
// The same, or "unknown": absent.
core::Result<std::optional<double>> ParseDurations(std::string_view flag, std::string_view text);

}  // namespace sharewell::cli
