// The label of a job's figures among samples and series (Reading::job, SeriesKey::job). It is made
// from the number and never read back: who needs the number keeps it beside the label.
#pragma once

#include <cstdint>
#include <string>

namespace sharewell::core {

inline std::string JobLabel(std::int64_t number) { return "job " + std::to_string(number); }

}  // namespace sharewell::core
