#include "core/text/quoted.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/text/utf8.h"

namespace sharewell::core {
namespace {

constexpr std::size_t kQuotedCharacters = 40;
constexpr std::size_t kQuotedPathCharacters = 255;
constexpr std::size_t kQuotedEndCharacters = 120;
constexpr std::size_t kLongestCharacter = 4;  // bytes

// Bytes of the printable character that begins `text`; 0 when there is none.
std::size_t PrintableLength(std::string_view text) {
  const std::size_t length = CharacterLength(text);
  if (length == 1 && IsControl(text[0])) return 0;
  // C1 controls: a terminal obeys them.
  if (length == 2 && text[0] == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0) return 0;
  return length;
}

}  // namespace

std::string Quoted(std::string_view value) {
  std::string shown = "'";
  const bool path = value.substr(0, kQuotedPathCharacters).find('/') != std::string_view::npos;
  const std::size_t most = path ? kQuotedPathCharacters : kQuotedCharacters;
  std::size_t characters = 0;
  while (!value.empty() && characters < most) {
    const std::size_t length = PrintableLength(value);
    shown += length == 0 ? std::string_view("?") : value.substr(0, length);
    value.remove_prefix(std::max<std::size_t>(length, 1));
    ++characters;
  }
  if (!value.empty()) shown += "...";
  return shown + "'";
}

std::string QuotedEnd(std::string_view value) {
  // A character more than can be shown: where it is cut in two, nobody sees it.
  const std::size_t looked_at = (kQuotedEndCharacters + 1) * kLongestCharacter;
  const bool cut = value.size() > looked_at;
  if (cut) value.remove_prefix(value.size() - looked_at);
  std::vector<std::string_view> characters;
  while (!value.empty()) {
    const std::size_t length = PrintableLength(value);
    characters.push_back(length == 0 ? std::string_view("?") : value.substr(0, length));
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  const std::size_t first = characters.size() - std::min(characters.size(), kQuotedEndCharacters);
  std::string shown = cut || first > 0 ? "'..." : "'";
  for (std::size_t i = first; i < characters.size(); ++i) shown += characters[i];
  return shown + "'";
}

}  // namespace sharewell::core
