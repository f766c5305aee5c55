// Writes CSV (RFC 4180, '\n' line ends) that platform/files/csv.h reads back as it was.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sharewell::report {

class CsvText {
 public:
  explicit CsvText(std::string_view header) : text_(header) { text_ += '\n'; }

  // One field after the other, then EndRow(). Quoted where it must be.
  CsvText& Field(std::string_view text);
  // Of what others wrote: a text that a spreadsheet would run as a formula gets a ' in front. For
  // files that nobody reads back.
  CsvText& Harmless(std::string_view text);
  CsvText& Field(double value);  // shortest form that reads back the same; not finite: empty
  CsvText& Field(const std::optional<double>& value);  // absent: empty
  void EndRow();

  std::string Take() && { return std::move(text_); }

 private:
  void Separate();

  std::string text_;
  bool first_ = true;
};

}  // namespace sharewell::report
