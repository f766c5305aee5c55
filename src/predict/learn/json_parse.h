// Parses JSON text as nlohmann does, several times as fast: a model file is megabytes of numbers,
// and `sharewell predict` reads it each time it starts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sharewell::predict::learn {

// The same value as nlohmann::json::parse(text, nullptr, false), to the bit: discarded where the
// text is no JSON.
nlohmann::json ParseFast(std::string_view text);

}  // namespace sharewell::predict::learn
