// The text of /proc/pressure/* and of a control group's *.pressure (PSI).
#pragma once

#include <optional>
#include <string_view>

namespace sharewell::collect {

// Seconds in which some task waited, and in which all did, since boot or since the group was made.
struct PressureTotals {
  std::optional<double> some, full;
};

PressureTotals ParsePressure(std::string_view text);

}  // namespace sharewell::collect
