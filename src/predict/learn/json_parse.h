// Parses JSON text as nlohmann does, several times as fast: a model file is megabytes of numbers,
// and `sharewell predict` reads it each time it starts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sharewell::predict::learn {

// Equal to nlohmann::json::parse(text, nullptr, false), every double to the bit: discarded where
// the text is no JSON. Whether a whole number is kept with a sign may differ (-0).
nlohmann::json ParseFast(std::string_view text);

// The same, but a list of at least 12 numbers comes as the bytes of its doubles, in one binary
// value: nearly all of a model file is such lists, and Reader::Numbers() takes both.
nlohmann::json ParsePacked(std::string_view text);

}  // namespace sharewell::predict::learn
