// Aligned text tables for a terminal: thin, no frames. Widths are counted in characters, not bytes.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sharewell::report {

enum class Align { kLeft, kRight };

inline constexpr std::string_view kTableRule = "─";  // what the line under the headings is made of

// Characters a terminal shows for `text`: code points, those that join the one before them aside,
// and double for the wide ones of East Asia. Broken bytes count one each.
std::size_t DisplayWidth(std::string_view text);
// The bytes of its longest beginning of whole characters that takes at most `width` columns.
std::size_t BytesWithin(std::string_view text, std::size_t width);

// `text` broken at spaces so that no line goes beyond column `width`; a longer word stays whole,
// and so does a command in backquotes that fits on a line: it is there to be copied. The first line
// begins at column `start`, the others with `indent` spaces.
std::string Wrapped(std::string_view text, std::size_t width, std::size_t indent,
                    std::size_t start = 0);
class Table {
 public:
  // Columns from left to right, with their headings.
  explicit Table(const std::vector<std::pair<std::string, Align>>& columns);

  // REQUIRES: as many cells as columns. Line breaks and other controls in cells are shown as '?'.
  void Row(std::vector<std::string> cells);
  // A blank line, to keep groups of rows apart; none at the beginning, and never two.
  void Gap();

  // Every line ends in '\n', none in a space. Where that is wider than `width`, the cells of the
  // widest column of words are wrapped in it; where even that does not do, columns that do not fit
  // follow below, with the first column again.
  std::string Text(std::size_t width = std::numeric_limits<std::size_t>::max()) const;
  std::size_t Width() const;  // of the widest line

 private:
  std::vector<std::size_t> Widths() const;
  std::string Whole() const;
  std::optional<Table> WithWrappedColumn(std::size_t width) const;
  std::vector<Table> InParts(std::size_t width) const;

  std::vector<Align> align_;
  std::vector<std::vector<std::string>> rows_;  // the headings first; an empty one is a gap
};

}  // namespace sharewell::report
