// Changes of a text file, kept as what they are: a range of its bytes and what stands there
// instead. They can be shown as a unified diff, which `patch` applies and takes back. Pure; any
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::engine {

struct ConfEdit {
  std::size_t begin = 0, end = 0;  // of the old text; alike: an insertion
  std::string text;                // new

  friend bool operator==(const ConfEdit&, const ConfEdit&) = default;
};

// REQUIRES: within the text, and no two of them overlap. Insertions at one place stay in order.
std::string EditedText(std::string_view text, std::vector<ConfEdit> edits);

// A unified diff of `path` with three lines around each change; empty: nothing is changed. Texts
// without a last line break are fine.
std::string UnifiedDiff(const std::string& path, std::string_view text,
                        std::vector<ConfEdit> edits);

}  // namespace sharewell::engine
