#include "platform/files/text.h"

#include <algorithm>
#include <cstddef>

namespace sharewell::platform {
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

std::string_view Trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> SplitList(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = text.find(separator);
    const auto part = Trimmed(text.substr(0, end));
    if (!part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace sharewell::platform
