#include "core/text/plain_text.h"

#include <algorithm>
#include <cstdint>

#include "core/text/utf8.h"

namespace sharewell::core {
namespace {

std::uint32_t CodePoint(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  std::uint32_t code = first & (0xffU >> (character.size() + 1));
  for (const char c : character.substr(1)) {
    code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
  }
  return code;
}

bool MayBeShown(std::uint32_t code) {
  // C1 too: U+009B begins an escape sequence in some terminals.
  const bool control = code < 0x20 || (code >= 0x7f && code <= 0x9f);
  // Breaks of lines, and turns of the direction, by which a name could pose as something else.
  const bool turns = code == 0x061c || code == 0x200e || code == 0x200f ||
                     (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool no_character = (code & 0xfffeU) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
  return !control && !turns && !no_character;
}

}  // namespace

std::size_t PlainLength(std::string_view text) {
  const std::size_t length = CharacterLength(text);
  return length > 0 && MayBeShown(CodePoint(text.substr(0, length))) ? length : 0;
}

std::string PlainText(std::string_view text, std::string_view instead, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = PlainLength(text);
    if (length == 0 && kept.find(text.front()) != std::string_view::npos) length = 1;
    out += length > 0 ? text.substr(0, length) : instead;
    // What may not be shown is one character where it is one: it is replaced once.
    if (length == 0) length = CharacterLength(text);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace sharewell::core
