// UTF-8, for text that may be anything.
#pragma once

#include <cstddef>
#include <string_view>

namespace sharewell::core {

// Bytes of the character that begins `text`; 0 when it is not well-formed: cut short, overlong, a
// surrogate, or beyond U+10FFFF. Controls are characters. REQUIRES: not empty.
std::size_t CharacterLength(std::string_view text);

// One byte that is no letter but an order: below a space, or DEL.
constexpr bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace sharewell::core
