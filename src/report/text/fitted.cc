#include "report/text/fitted.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "report/text/table.h"

namespace sharewell::report {
namespace {

constexpr std::size_t kHanging = 4;  // lines that begin further in than that go on others

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::size_t Leading(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

// A column of a table: where it begins, and how wide it is.
struct ColumnSpan {
  std::size_t begin, width;
};

// The columns that a rule under headings shows; none: the line is no rule.
std::vector<ColumnSpan> ColumnsOf(std::string_view line) {
  std::vector<ColumnSpan> columns;
  std::size_t column = 0;
  bool inside = false;
  while (!line.empty()) {
    const bool rule = line.starts_with(kTableRule);
    if (!rule && line.front() != ' ') return {};
    if (rule && !inside) columns.push_back({column, 0});
    if (rule) ++columns.back().width;
    inside = rule;
    ++column;
    line.remove_prefix(rule ? kTableRule.size() : 1);
  }
  return columns;
}

// The cells of a line; absent: it does not keep to the columns.
std::optional<std::vector<std::string>> CellsOf(std::string_view line,
                                                const std::vector<ColumnSpan>& columns) {
  std::vector<std::string> cells;
  std::size_t at = 0;  // the column that `line` begins with
  const auto take = [&](std::size_t until) {
    const std::size_t bytes = BytesWithin(line, until - at);
    const std::string_view part = line.substr(0, bytes);
    line.remove_prefix(bytes);
    at = line.empty() ? until : at + DisplayWidth(part);  // no line ends in blanks
    return part;
  };
  for (const ColumnSpan& column : columns) {
    if (column.begin > at && take(column.begin).find_first_not_of(' ') != std::string_view::npos) {
      return std::nullopt;
    }
    if (at != column.begin) return std::nullopt;
    cells.emplace_back(take(column.begin + column.width));
    if (at != column.begin + column.width) return std::nullopt;
  }
  if (!line.empty()) return std::nullopt;
  return cells;
}

std::string Trimmed(std::string_view cell) {
  const std::size_t begin = Leading(cell);
  const std::size_t end = cell.find_last_not_of(' ');
  return begin == cell.size() ? std::string() : std::string(cell.substr(begin, end + 1 - begin));
}

// Numbers stand at the right of their column, headings too.
Align AlignOf(const std::vector<std::vector<std::string>>& rows, std::size_t column,
              std::size_t width) {
  const bool right = std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
    if (row.empty() || Trimmed(row[column]).empty()) return true;
    return !row[column].ends_with(' ') && DisplayWidth(row[column]) == width;
  });
  return right ? Align::kRight : Align::kLeft;
}

// The table whose headings are lines[i]: laid out within `width`, and the line behind it.
std::optional<std::pair<std::string, std::size_t>> TableAt(
    const std::vector<std::string_view>& lines, std::size_t i, std::size_t width) {
  if (i + 1 >= lines.size()) return std::nullopt;
  const std::vector<ColumnSpan> columns = ColumnsOf(lines[i + 1]);
  if (columns.size() < 2) return std::nullopt;
  std::vector<std::vector<std::string>> rows;
  std::size_t end = i;
  for (std::size_t next = i; next < lines.size(); ++next) {
    if (next == i + 1) continue;
    // A blank line is a gap, if the table goes on behind it. One word there is no row.
    if (lines[next].empty()) {
      if (rows.size() < 2 || rows.back().empty()) break;
      rows.emplace_back();
      continue;
    }
    const bool stops =
        !rows.empty() && rows.back().empty() && DisplayWidth(lines[next]) <= columns[1].begin;
    auto cells = stops ? std::nullopt : CellsOf(lines[next], columns);
    if (!cells) break;
    rows.push_back(std::move(*cells));
    end = next + 1;
  }
  if (rows.empty()) return std::nullopt;
  while (rows.back().empty()) rows.pop_back();
  std::vector<std::pair<std::string, Align>> headings;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    headings.emplace_back(Trimmed(rows[0][c]), AlignOf(rows, c, columns[c].width));
  }
  Table table(headings);
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (rows[r].empty()) {
      table.Gap();
      continue;
    }
    for (std::string& cell : rows[r]) cell = Trimmed(cell);
    table.Row(std::move(rows[r]));
  }
  const std::size_t indent = columns[0].begin;
  std::string out;
  const std::string text = table.Text(width > indent ? width - indent : 1);
  for (const std::string_view line : LinesOf(text)) {
    if (!line.empty()) out.append(indent, ' ');
    out += line;
    out += '\n';
  }
  return std::pair(out, std::max(end, i + 2));
}

// Where the text of a line begins, behind what names it: "  driver  ok  text".
std::size_t TextBegin(std::string_view line, std::size_t width) {
  const std::size_t leading = Leading(line);
  const std::string_view head = line.substr(0, BytesWithin(line, width * 3 / 5));
  const std::size_t gap = head.rfind("  ");
  if (gap != std::string_view::npos && gap >= leading) {
    return gap + Leading(line.substr(gap));
  }
  return leading;
}

}  // namespace

std::string Fitted(std::string_view text, std::size_t width) {
  const std::vector<std::string_view> lines = LinesOf(text);
  std::string out;
  for (std::size_t i = 0; i < lines.size();) {
    const bool too_wide = DisplayWidth(lines[i]) > width;
    const bool under_rule = i + 1 < lines.size() && DisplayWidth(lines[i + 1]) > width;
    if (const auto table = too_wide || under_rule ? TableAt(lines, i, width) : std::nullopt) {
      out += table->first;
      i = table->second;
      continue;
    }
    if (!too_wide) {
      out += lines[i++];
      out += '\n';
      continue;
    }
    const std::size_t begin = TextBegin(lines[i], width);
    const std::size_t column = DisplayWidth(lines[i].substr(0, begin));
    std::size_t indent = column;
    if (column < kHanging) indent += 2;
    std::string rest(lines[i].substr(begin));
    out += lines[i].substr(0, begin);
    // What went on below is joined, or short lines would stand between long ones.
    for (++i;
         i < lines.size() && column >= kHanging && Leading(lines[i]) == column && !lines[i].empty();
         ++i) {
      rest += ' ';
      rest += lines[i].substr(column);
    }
    out += Wrapped(rest, width, indent, column) + "\n";
  }
  if (!text.empty() && !text.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace sharewell::report
