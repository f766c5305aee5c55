#include "report/text/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace sharewell::report {

void CsvText::Separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

CsvText& CsvText::Field(std::string_view text) {
  Separate();
  // Spaces at the ends are quoted too: some readers trim what is not.
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos &&
                     (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (plain) {
    text_ += text;
    return *this;
  }
  text_ += '"';
  for (const char c : text) {
    if (c == '"') text_ += '"';
    text_ += c;
  }
  text_ += '"';
  return *this;
}

CsvText& CsvText::Harmless(std::string_view text) {
  constexpr std::string_view kBeginsFormula = "=+-@\t\r";
  if (text.empty() || kBeginsFormula.find(text.front()) == std::string_view::npos) {
    return Field(text);
  }
  return Field("'" + std::string(text));
}

CsvText& CsvText::Field(double value) {
  Separate();
  if (std::isfinite(value)) fmt::format_to(std::back_inserter(text_), "{}", value);
  return *this;
}

CsvText& CsvText::Field(const std::optional<double>& value) {
  return value ? Field(*value) : Field(std::string_view());
}

void CsvText::EndRow() {
  text_ += '\n';
  first_ = true;
}

}  // namespace sharewell::report
