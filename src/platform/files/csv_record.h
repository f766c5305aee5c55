// One record of CSV, split into its fields: for CsvReader (csv.h), and for tables that stand among
// other text, which CsvReader refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace sharewell::platform {

struct CsvRecord {
  enum class Fault : std::uint8_t { kNone, kOpenQuote, kBehindQuote };

  // Takes the record that `text` begins with, up to a line break outside quotes or the end. Quotes
  // as in RFC 4180; spaces around fields are left out, those inside quotes stay. The fields are
  // parts of `text` and of `unquoted`; after a fault they mean nothing.
  Fault Split(std::string_view text, char separator = ',');

  std::vector<std::string_view> fields;
  std::size_t size = 0;              // bytes taken, without the line break
  std::deque<std::string> unquoted;  // fields that had doubled quotes; addresses stay
};

}  // namespace sharewell::platform
