// What the files that people write about models need beside json/reader.h: keys that have several
// names, and lists that may be one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"
#include "json/reader.h"
#include "json/value.h"

namespace sharewell::graph {

// Parsed whole. An error names the file, and says where in it there is no JSON.
core::Result<json::Document> ParseModelJson(std::string_view text, const std::string& name,
                                            std::size_t largest);

// Of several names the first that is there counts; null counts as not there, as Hugging Face writes
// it so. Without `otherwise` one must be there.
std::int64_t WholeOf(json::Reader& keys, std::initializer_list<std::string_view> names,
                     json::Range range, std::optional<std::int64_t> otherwise = std::nullopt);

// A list of `count` whole numbers, or one number that stands for `count` equal ones.
Dims Wholes(json::Reader& keys, std::string_view key, json::Range range, std::size_t count,
            std::optional<std::int64_t> otherwise = std::nullopt);

}  // namespace sharewell::graph
