// Any bytes through the CSV reader: every accessor on every field, errors included.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "platform/files/csv.h"

namespace platform = sharewell::platform;

namespace {

void ReadAll(std::string_view text, const platform::CsvOptions& options) {
  platform::CsvReader csv(text, "fuzz.csv", options);
  std::vector<platform::CsvReader::Column> columns;
  for (const auto& name : csv.header()) columns.push_back(csv.Find(name));
  columns.push_back(csv.Find("not a column"));
  while (csv.Next()) {
    // Text first: a bad number ends the reading, and rows after it count too.
    for (const auto column : columns) {
      const std::string_view field = csv.Text(column);
      if (field.size() > text.size()) __builtin_trap();
      if (field.size() < 8) csv.OptionalNumber(column, platform::kNonNegative);
      if (field == "true") csv.Flag(column, false);
    }
    for (const auto column : columns) csv.OptionalInteger(column, -1000, 1000);
  }
  if (!csv.ok() && csv.error().value().message.empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReadAll(text, {});
  ReadAll(text, {.separator = ' ', .quotes = false, .header = {"a", "b"}});
  platform::CsvHeader(text);
  return 0;
}
