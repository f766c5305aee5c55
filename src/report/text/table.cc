#include "report/text/table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/result.h"
#include "core/text/plain_text.h"

namespace sharewell::report {
namespace {

constexpr std::string_view kBetween = "  ";

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

// Where the first word of `text` ends; a command in backquotes of at most `most` columns is one.
std::size_t EndOfWord(std::string_view text, std::size_t most) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::size_t opens = text.substr(0, end).find('`');
  if (opens == std::string_view::npos) return end;
  const std::size_t closes = text.find('`', opens + 1);
  if (closes == std::string_view::npos || closes < end) return end;
  const std::size_t whole = std::min(text.find(' ', closes), text.size());
  return DisplayWidth(text.substr(0, whole)) <= most ? whole : end;
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
    const std::size_t end = EndOfWord(text, width > indent ? width - indent : 0);
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
    headings.push_back(core::PlainText(heading));
    align_.push_back(align);
  }
  rows_.push_back(std::move(headings));
}

void Table::Row(std::vector<std::string> cells) {
  SHAREWELL_CHECK(cells.size() == align_.size());
  for (std::string& cell : cells) cell = core::PlainText(cell);
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

namespace {

constexpr std::size_t kLeastWrapped = 16;  // narrower columns of words are hard to read

}  // namespace

std::optional<Table> Table::WithWrappedColumn(std::size_t width) const {
  const std::vector<std::size_t> widths = Widths();
  std::size_t widest = 0, most = 0;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    const bool of_words = align_[c] == Align::kLeft &&
                          std::any_of(rows_.begin() + 1, rows_.end(), [&](const auto& row) {
                            return !row.empty() && row[c].find(' ') != std::string::npos;
                          });
    if (!of_words || widths[c] <= most) continue;
    widest = c;
    most = widths[c];
  }
  const std::size_t over = Width() - width;
  if (most < over + kLeastWrapped) return std::nullopt;
  Table wrapped({});
  wrapped.align_ = align_;
  wrapped.rows_ = {rows_.front()};
  for (std::size_t r = 1; r < rows_.size(); ++r) {
    if (rows_[r].empty()) {
      wrapped.Gap();
      continue;
    }
    std::vector<std::string> row = rows_[r];
    const std::string text = Wrapped(row[widest], most - over, 0);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(lines.size(), 1); ++i) {
      row[widest] = lines.empty() ? "" : std::move(lines[i]);
      wrapped.rows_.push_back(std::exchange(row, std::vector<std::string>(row.size())));
    }
  }
  if (wrapped.Width() > width) return std::nullopt;
  return wrapped;
}

std::vector<Table> Table::InParts(std::size_t width) const {
  const std::vector<std::size_t> widths = Widths();
  std::vector<Table> parts;
  for (std::size_t next = 1; next < widths.size();) {
    std::vector<std::size_t> columns = {0};
    std::size_t room = width > widths[0] ? width - widths[0] : 0;
    // At least one more, or nothing would ever be shown of it.
    while (next < widths.size() &&
           (columns.size() == 1 || room >= widths[next] + kBetween.size())) {
      room -= std::min(room, widths[next] + kBetween.size());
      columns.push_back(next++);
    }
    Table part({});
    for (const std::size_t c : columns) part.align_.push_back(align_[c]);
    for (const auto& row : rows_) {
      part.rows_.emplace_back();
      if (row.empty()) continue;
      for (const std::size_t c : columns) part.rows_.back().push_back(row[c]);
    }
    part.rows_.erase(part.rows_.begin());  // that of the constructor
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string Table::Text(std::size_t width) const {
  if (Width() <= width || align_.size() < 2) return Whole();
  if (const auto wrapped = WithWrappedColumn(width)) return wrapped->Whole();
  std::string out;
  for (const Table& part : InParts(width)) {
    if (!out.empty()) out += '\n';
    const auto wrapped = part.Width() > width ? part.WithWrappedColumn(width) : std::nullopt;
    out += wrapped ? wrapped->Whole() : part.Whole();
  }
  return out;
}

std::string Table::Whole() const {
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
      for (std::size_t i = 0; i < widths[c]; ++i) out += kTableRule;
    }
    end_line();
  }
  return out;
}

}  // namespace sharewell::report
