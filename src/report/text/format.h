// Figures as people read them: "1h 23m", "12.3 %", "4.5 GiB". Unknown is a dash.
#pragma once

#include <optional>
#include <string>

#include "core/units.h"

namespace sharewell::report {

inline constexpr const char* kUnknown = "-";

// Two units at most: "850 µs", "12 ms", "4.2 s", "12m 05s", "3h 07m", "2d 04h".
std::string Duration(core::Seconds time);
std::string About(core::Seconds time);   // of what nobody knows exactly: "12 s", "58 min"
std::string Percent(core::Ratio share);  // "12.3 %"
std::string Size(core::Bytes bytes);     // "4.5 GiB", in powers of 1024
// "28.0 of 140.4 GiB"; of two units both: "512.0 MiB of 140.4 GiB".
std::string SizeOf(core::Bytes part, core::Bytes whole);
std::string Rate(core::BytesPerSecond rate);   // "4.5 GB/s", in powers of 1000
std::string Number(double value, int digits);  // "12,345.6"
std::string Times(core::Ratio ratio);          // "1.08x"

// The same of what may be unknown, each in the wording of `write`.
template <class Write>
std::string Or(const std::optional<double>& value, Write write) {
  return value ? write(*value) : std::string(kUnknown);
}

}  // namespace sharewell::report
