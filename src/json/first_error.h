// Where a text stops being JSON. The parser is fast and does not say it; this is slow, and asked
// only where there is a person to tell.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sharewell::json {

// The offset of the first byte that cannot stand where it does (the text's size: it ends too
// early). Absent: it is JSON, whatever its numbers mean.
std::optional<std::size_t> FirstError(std::string_view text);

}  // namespace sharewell::json
