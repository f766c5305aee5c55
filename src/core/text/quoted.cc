#include "core/text/quoted.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/text/plain_text.h"

namespace sharewell::core {
namespace {

constexpr std::size_t kQuotedCharacters = 40;
constexpr std::size_t kQuotedPathCharacters = 255;
constexpr std::size_t kQuotedEndCharacters = 120;
constexpr std::size_t kLongestCharacter = 4;  // bytes

}  // namespace

std::string Quoted(std::string_view value) {
  std::string shown = "'";
  const bool path = value.substr(0, kQuotedPathCharacters).find('/') != std::string_view::npos;
  const std::size_t most = path ? kQuotedPathCharacters : kQuotedCharacters;
  std::size_t characters = 0;
  while (!value.empty() && characters < most) {
    const std::size_t length = PlainLength(value);
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
    const std::size_t length = PlainLength(value);
    characters.push_back(length == 0 ? std::string_view("?") : value.substr(0, length));
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  const std::size_t first = characters.size() - std::min(characters.size(), kQuotedEndCharacters);
  std::string shown = cut || first > 0 ? "'..." : "'";
  for (std::size_t i = first; i < characters.size(); ++i) shown += characters[i];
  return shown + "'";
}

}  // namespace sharewell::core
