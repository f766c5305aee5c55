// {axis} in a text: the parts of a template.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sharewell::measure {

// Calls literal(text) and name(name) for the parts, left to right; {{ and }} mean the character. An
// error text for a brace that is neither.
template <class Literal, class Name>
std::string ForEachPart(std::string_view text, Literal literal, Name name) {
  while (!text.empty()) {
    const auto brace = text.find_first_of("{}");
    literal(text.substr(0, brace));
    if (brace == std::string_view::npos) return {};
    text.remove_prefix(brace);
    if (text.size() > 1 && text[1] == text[0]) {
      literal(text.substr(0, 1));
      text.remove_prefix(2);
      continue;
    }
    const auto end = text.find('}');
    if (text[0] == '}' || end == std::string_view::npos) {
      return fmt::format("has a lone '{}'; write it twice to mean the character", text[0]);
    }
    name(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
  }
  return {};
}

}  // namespace sharewell::measure
