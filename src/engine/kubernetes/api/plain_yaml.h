// PlainYaml: a small YAML document as a tree, for files that people write for other programs.
// Bounded: no aliases or anchors (with them ten lines can mean a billion), no deep nesting, one
// document.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace sharewell::engine {

struct PlainYaml {
  enum class Kind { kNull, kText, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;
  std::vector<PlainYaml> list;    // of a map its values
  std::vector<std::string> keys;  // of a map; one that comes twice: the first counts
  // Where it begins in the text, in bytes, and on its line. Of a list or map that is not in
  // brackets: where its first entry begins.
  std::size_t at = 0, column = 0;
  bool in_brackets = false;

  // Null where it is no map or has no such key.
  const PlainYaml& At(std::string_view key) const;
  // Empty where it is no text.
  const std::string& TextAt(std::string_view key) const { return At(key).text; }
};

inline constexpr std::size_t kMostYaml = std::size_t{1} << 20;

// Usage errors name the line.
core::Result<PlainYaml> ParsePlainYaml(std::string_view text);
// Several documents with `---` between them.
core::Result<std::vector<PlainYaml>> ParsePlainYamls(std::string_view text);

}  // namespace sharewell::engine
