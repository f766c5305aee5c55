// Reads CSV from memory, row by row, by column name.
//
//   CsvReader csv(text, "jobs.csv");
//   const auto gpus = csv.Require("gpus");
//   while (csv.Next()) total += csv.Integer(gpus, 0, 1000);
//   if (!csv.ok()) return csv.error();
//
// Columns may stand in any order, unknown ones are allowed. Accepted: a byte-order mark, CRLF,
// RFC 4180 quotes (with line breaks inside), blank lines, comment lines (#) ahead of the header,
// spaces around a field. Refused: ragged rows, two columns of one name, NUL bytes, records over
// 1 MiB (found without reading further).
//
// Errors stick: the first one stays in error() (kind kUsage, with file, line, column, value and
// what is expected), Next() is false from then on and accessors give zero or empty. So a caller
// reads a whole row and asks once. No exceptions; the text must outlive the reader; fields live
// until Next().
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "platform/files/csv_record.h"

namespace sharewell::platform {

struct CsvOptions {
  char separator = ',';
  bool quotes = true;  // false: a quote is a letter like any other
  // The columns of a file without a header line; empty: the first line names them.
  std::vector<std::string> header;
};

// The numbers a field may hold; both ends belong to it unless said otherwise.
struct Range {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
  bool above_least = false;  // `least` itself is not allowed
};
inline constexpr Range kAnyNumber{};
inline constexpr Range kNonNegative{0};

class CsvReader {
 public:
  // A column of this file, or none (`if (column)`), whose fields are all empty.
  struct Column {
    int index = -1;
    explicit operator bool() const { return index >= 0; }
  };

  // Reads the header; a bad or missing one is an error(). `name` stands in messages.
  CsvReader(std::string_view text, std::string name, CsvOptions options = {});

  const std::vector<std::string>& header() const { return header_; }
  Column Find(std::string_view column) const;
  Column Require(std::string_view column);  // absent: an error that names the nearest column

  // Goes to the next row; false at the end and after an error.
  bool Next();
  std::size_t line() const { return row_line_; }  // where the row begins, from 1
  // About how many rows are left, judged by the next 64 KiB; never more than a million. To reserve
  // by.
  std::size_t ApproximateRows() const;

  // The field, without spaces around it.
  std::string_view Text(Column column) const;
  std::string_view RequiredText(Column column);  // empty: an error
  double Number(Column column, Range range = kAnyNumber);
  std::int64_t Integer(Column column, std::int64_t least, std::int64_t most);
  bool Flag(Column column, bool otherwise);  // 0, 1, true, false, or empty: `otherwise`
  std::optional<double> OptionalNumber(Column column, Range range = kAnyNumber);
  std::optional<std::int64_t> OptionalInteger(Column column, std::int64_t least, std::int64_t most);

  // A caller's own objection: "FILE: line 3, column id: 'x' ...". The first one stays.
  void Fail(Column column, std::string_view problem);
  void FailRow(std::string_view problem);

  bool ok() const { return !error_; }
  // REQUIRES: !ok(). In the shape a function returning a Result wants.
  tl::unexpected<core::Error> error() const { return tl::unexpected(*error_); }

 private:
  bool ReadRecord();
  bool SplitPlain(std::string_view line);
  bool SplitQuoted(std::string_view bounded);
  void FailFile(std::string_view problem);
  void ReadHeader(CsvOptions options);

  std::string_view rest_;
  std::string name_;
  char separator_;
  bool quotes_;
  std::vector<std::string> header_;
  CsvRecord record_;
  std::size_t line_ = 0;  // lines taken so far
  std::size_t row_line_ = 0;
  std::optional<core::Error> error_;
};

// The columns that `text`'s header names, for telling formats apart; empty when there is no header.
std::vector<std::string> CsvHeader(std::string_view text);

}  // namespace sharewell::platform
