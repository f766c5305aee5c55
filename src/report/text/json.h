// The few words about JSON that all reports share.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace sharewell::report {

using Json = nlohmann::ordered_json;

inline constexpr int kSchema = 1;

inline Json OrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

// Indented, ending in a line break; broken UTF-8 is replaced, so that this never throws.
inline std::string Document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sharewell::report
