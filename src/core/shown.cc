#include "core/shown.h"

#include <algorithm>
#include <cstddef>

namespace sharewell::core {
namespace {

constexpr std::size_t kShownCharacters = 40;

// Bytes of the well-formed, printable character that begins `text`; 0 when there is none.
std::size_t PrintableLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const std::size_t length = byte(0) >= 0xf8   ? 0
                             : byte(0) >= 0xf0 ? 4
                             : byte(0) >= 0xe0 ? 3
                             : byte(0) >= 0xc2 ? 2
                                               : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (byte(0) == 0xc2 && byte(1) < 0xa0) return 0;  // C1 controls: a terminal obeys them
  return length;
}

}  // namespace

std::string Shown(std::string_view value) {
  std::string shown = "'";
  std::size_t characters = 0;
  while (!value.empty() && characters < kShownCharacters) {
    const std::size_t length = PrintableLength(value);
    shown += length == 0 ? std::string_view("?") : value.substr(0, length);
    value.remove_prefix(std::max<std::size_t>(length, 1));
    ++characters;
  }
  if (!value.empty()) shown += "...";
  return shown + "'";
}

}  // namespace sharewell::core
