#include "platform/files/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/text/suggest.h"
#include "platform/files/text.h"

namespace sharewell::platform {
namespace {

constexpr std::size_t kLongestRecord = std::size_t{1} << 20;

std::string Words(const Range& range, const char* kind) {
  const bool low = range.least > std::numeric_limits<double>::lowest();
  const bool high = range.most < std::numeric_limits<double>::max();
  if (!low && !high) return fmt::format("a {}", kind);
  if (!high)
    return fmt::format("a {} {} {}", kind, range.above_least ? "above" : "of at least",
                       range.least);
  if (!low) return fmt::format("a {} of at most {}", kind, range.most);
  if (range.above_least) {
    return fmt::format("a {} above {} and at most {}", kind, range.least, range.most);
  }
  return fmt::format("a {} from {} to {}", kind, range.least, range.most);
}

bool Within(double value, const Range& range) {
  return value <= range.most && (range.above_least ? value > range.least : value >= range.least);
}

// Finite, and nothing behind it. from_chars knows no locale and no leading '+'.
std::optional<double> ParseNumber(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size()) return value;
  // Spreadsheets and pandas write 4 as 4.0 where a column has gaps.
  const auto number = ParseNumber(text);
  constexpr double kExact = 9007199254740992;  // 2^53: beyond it a double is no exact integer
  if (number && std::abs(*number) <= kExact && *number == std::floor(*number)) {
    return static_cast<std::int64_t>(*number);
  }
  return std::nullopt;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string name, CsvOptions options)
    : rest_(text), name_(std::move(name)), separator_(options.separator), quotes_(options.quotes) {
  if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
  ReadHeader(std::move(options));
}

void CsvReader::ReadHeader(CsvOptions options) {
  if (!options.header.empty()) {
    header_ = std::move(options.header);
    return;
  }
  while (rest_.starts_with('#')) {
    const auto end = rest_.substr(0, kLongestRecord).find('\n');
    if (end == std::string_view::npos) break;
    rest_.remove_prefix(end + 1);
    ++line_;
  }
  if (!ReadRecord()) {
    if (ok()) FailFile("is empty; the first line must name the columns");
    return;
  }
  header_.reserve(record_.fields.size());
  for (const auto field : record_.fields) header_.emplace_back(Trimmed(field));
  std::vector<std::string_view> sorted(header_.begin(), header_.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] == sorted[i - 1] && !sorted[i].empty()) {
      FailRow(fmt::format("two columns are named {}; rename or remove one", Quoted(sorted[i])));
      return;
    }
  }
}

CsvReader::Column CsvReader::Find(std::string_view column) const {
  const auto it = std::find(header_.begin(), header_.end(), column);
  return it == header_.end() ? Column{} : Column{static_cast<int>(it - header_.begin())};
}

CsvReader::Column CsvReader::Require(std::string_view column) {
  const Column found = Find(column);
  if (!found) {
    const auto nearest = core::Nearest(column, header_);
    FailFile(
        fmt::format("has no column '{}', which is required{}", column,
                    nearest ? fmt::format("; is it the one named {}?", Quoted(*nearest)) : ""));
  }
  return found;
}

bool CsvReader::Next() {
  if (!ok() || !ReadRecord()) return false;
  if (record_.fields.size() == header_.size()) return true;
  FailRow(fmt::format("has {} fields where {} are expected; check for a missing or stray '{}'",
                      record_.fields.size(), header_.size(),
                      separator_ == '\t' ? std::string("tab") : std::string(1, separator_)));
  return false;
}

std::size_t CsvReader::ApproximateRows() const {
  constexpr std::size_t kMost = 1'000'000;
  const std::string_view sample = rest_.substr(0, std::size_t{64} << 10);
  const auto lines = static_cast<std::size_t>(std::count(sample.begin(), sample.end(), '\n'));
  if (lines == 0) return rest_.empty() ? 0 : 1;
  return std::min(kMost, rest_.size() / (sample.size() / lines) + 1);
}

// Fills record_.fields with the next record that is not blank; false at the end and on error.
bool CsvReader::ReadRecord() {
  while (!rest_.empty()) {
    row_line_ = line_ + 1;
    const std::string_view bounded = rest_.substr(0, kLongestRecord + 1);
    const auto newline = bounded.find('\n');
    std::string_view line = bounded.substr(0, newline);
    if (newline == std::string_view::npos && line.size() > kLongestRecord) {
      FailRow("is longer than 1 MiB; is this a text file with one row a line?");
      return false;
    }
    if (quotes_ && line.find('"') != std::string_view::npos) return SplitQuoted(bounded);
    rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (Trimmed(line).empty() && separator_ != '\t') continue;
    if (line.empty()) continue;
    return SplitPlain(line);
  }
  return false;
}

bool CsvReader::SplitPlain(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) {
    FailRow("contains a NUL byte; the file must be UTF-8 text (`iconv -f UTF-16 -t UTF-8` helps)");
    return false;
  }
  record_.fields.clear();
  const char* at = line.data();
  const char* const end = at + line.size();
  while (true) {
    const void* hit =
        at == end ? nullptr : std::memchr(at, separator_, static_cast<std::size_t>(end - at));
    const char* stop = hit == nullptr ? end : static_cast<const char*>(hit);
    record_.fields.emplace_back(at, static_cast<std::size_t>(stop - at));
    if (hit == nullptr) return true;
    at = stop + 1;
  }
}

// Only lines with a quote come here.
bool CsvReader::SplitQuoted(std::string_view bounded) {
  switch (record_.Split(bounded, separator_)) {
    case CsvRecord::Fault::kOpenQuote:
      FailRow(bounded.size() > kLongestRecord ? "opens a quote (\") that is not closed within 1 MiB"
                                              : "opens a quote (\") that is never closed");
      return false;
    case CsvRecord::Fault::kBehindQuote:
      FailRow("has letters behind a closing quote; write a quote inside a field twice (\"\")");
      return false;
    case CsvRecord::Fault::kNone:
      break;
  }
  const std::string_view taken = bounded.substr(0, record_.size);
  if (taken.size() > kLongestRecord) {
    FailRow("is longer than 1 MiB; is this a text file with one row a line?");
    return false;
  }
  if (taken.find('\0') != std::string_view::npos) {
    FailRow("contains a NUL byte; the file must be UTF-8 text");
    return false;
  }
  line_ += static_cast<std::size_t>(std::count(taken.begin(), taken.end(), '\n')) + 1;
  rest_.remove_prefix(std::min(rest_.size(), taken.size() + 1));
  return true;
}

std::string_view CsvReader::Text(Column column) const {
  if (!column || !ok() || static_cast<std::size_t>(column.index) >= record_.fields.size())
    return {};
  return Trimmed(record_.fields[static_cast<std::size_t>(column.index)]);
}

std::string_view CsvReader::RequiredText(Column column) {
  const auto text = Text(column);
  if (text.empty()) Fail(column, "is not a name");
  return text;
}

double CsvReader::Number(Column column, Range range) {
  const auto text = Text(column);
  const auto value = ParseNumber(text);
  if (value && Within(*value, range)) return *value;
  Fail(column, fmt::format("is not {}", Words(range, "number")));
  return 0;
}

std::int64_t CsvReader::Integer(Column column, std::int64_t least, std::int64_t most) {
  const auto text = Text(column);
  const auto value = ParseInteger(text);
  if (value && *value >= least && *value <= most) return *value;
  Fail(column, fmt::format("is not a whole number from {} to {}", least, most));
  return 0;
}

bool CsvReader::Flag(Column column, bool otherwise) {
  const auto text = Text(column);
  if (text.empty()) return otherwise;
  const std::string lower = LowerCase(text.substr(0, 8));
  if (lower == "1" || lower == "true") return true;
  if (lower != "0" && lower != "false") Fail(column, "is not 0, 1, true or false");
  return false;
}

std::optional<double> CsvReader::OptionalNumber(Column column, Range range) {
  if (Text(column).empty()) return std::nullopt;
  return Number(column, range);
}

std::optional<std::int64_t> CsvReader::OptionalInteger(Column column, std::int64_t least,
                                                       std::int64_t most) {
  if (Text(column).empty()) return std::nullopt;
  return Integer(column, least, most);
}

void CsvReader::Fail(Column column, std::string_view problem) {
  if (!ok()) return;
  const std::string where =
      column ? fmt::format(", column {}", header_[static_cast<std::size_t>(column.index)]) : "";
  const auto text = Text(column);
  error_ = core::Error{core::ErrorKind::kUsage,
                       fmt::format("{}: line {}{}: {} {}", name_, row_line_, where,
                                   text.empty() ? "an empty field" : Quoted(text), problem)};
}

void CsvReader::FailRow(std::string_view problem) {
  if (!ok()) return;
  error_ = core::Error{core::ErrorKind::kUsage,
                       fmt::format("{}: line {}: {}", name_, row_line_, problem)};
}

void CsvReader::FailFile(std::string_view problem) {
  if (!ok()) return;
  error_ = core::Error{core::ErrorKind::kUsage, fmt::format("{}: {}", name_, problem)};
}

std::vector<std::string> CsvHeader(std::string_view text) {
  const CsvReader csv(text, "");
  return csv.ok() ? csv.header() : std::vector<std::string>();
}

}  // namespace sharewell::platform
