#include "report/text/table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/result.h"

namespace sharewell::report {
namespace {

constexpr std::string_view kBetween = "  ";
constexpr std::string_view kRule = "─";

struct CodePoint {
  char32_t value;
  std::size_t bytes;
};

// The character that begins `text`; a broken byte stands for itself.
CodePoint First(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  if (length <= 1 || text.size() < length) return {lead, 1};
  char32_t value = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1};
    value = (value << 6) | (byte(i) & 0x3f);
  }
  return {value, length};
}

struct Span {
  char32_t first, last;
};
constexpr std::array<Span, 5> kJoining = {
    {{0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}}};
constexpr std::array<Span, 7> kWide = {{{0x1100, 0x115f},
                                        {0x2e80, 0xa4cf},
                                        {0xac00, 0xd7a3},
                                        {0xf900, 0xfaff},
                                        {0xff00, 0xff60},
                                        {0x1f300, 0x1faff},
                                        {0x20000, 0x3fffd}}};

template <std::size_t N>
bool Within(const std::array<Span, N>& spans, char32_t c) {
  return std::any_of(spans.begin(), spans.end(),
                     [c](const Span& s) { return c >= s.first && c <= s.last; });
}

std::size_t WidthOf(char32_t c) {
  if (Within(kJoining, c)) return 0;
  return Within(kWide, c) ? 2 : 1;
}

std::string Clean(std::string cell) {
  for (char& c : cell) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return cell;
}

}  // namespace

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const auto [value, bytes] = First(text);
    width += WidthOf(value);
    text.remove_prefix(bytes);
  }
  return width;
}

std::size_t BytesWithin(std::string_view text, std::size_t width) {
  std::size_t taken = 0, at = 0;
  while (at < text.size()) {
    const auto [value, bytes] = First(text.substr(at));
    taken += WidthOf(value);
    if (taken > width) break;
    at += bytes;
  }
  return at;
}

std::string Wrapped(std::string_view text, std::size_t width, std::size_t indent,
                    std::size_t start) {
  std::string out;
  std::size_t column = start;
  bool fresh = true;  // nothing on this line yet
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t needs = DisplayWidth(word);
    if (!fresh && column + 1 + needs > width) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!fresh) {
      out += ' ';
      ++column;
    }
    out += word;
    column += needs;
    fresh = false;
  }
  return out;
}

Table::Table(const std::vector<std::pair<std::string, Align>>& columns) {
  std::vector<std::string> headings;
  for (const auto& [heading, align] : columns) {
    headings.push_back(Clean(heading));
    align_.push_back(align);
  }
  rows_.push_back(std::move(headings));
}

void Table::Row(std::vector<std::string> cells) {
  SHAREWELL_CHECK(cells.size() == align_.size());
  for (std::string& cell : cells) cell = Clean(std::move(cell));
  rows_.push_back(std::move(cells));
}

void Table::Gap() {
  if (rows_.size() > 1 && !rows_.back().empty()) rows_.emplace_back();
}

std::vector<std::size_t> Table::Widths() const {
  std::vector<std::size_t> widths(align_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  return widths;
}

std::size_t Table::Width() const {
  std::size_t width = 0;
  for (const std::size_t column : Widths()) width += column + kBetween.size();
  return width < kBetween.size() ? 0 : width - kBetween.size();
}

std::string Table::Text() const {
  const std::vector<std::size_t> widths = Widths();
  std::string out;
  const auto end_line = [&out] {
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  };
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < rows_[r].size(); ++c) {
      if (c > 0) out += kBetween;
      const std::string pad(widths[c] - DisplayWidth(rows_[r][c]), ' ');
      out += align_[c] == Align::kRight ? pad + rows_[r][c] : rows_[r][c] + pad;
    }
    end_line();
    if (r > 0) continue;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (c > 0) out += kBetween;
      for (std::size_t i = 0; i < widths[c]; ++i) out += kRule;
    }
    end_line();
  }
  return out;
}

}  // namespace sharewell::report
