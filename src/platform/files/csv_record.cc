#include "platform/files/csv_record.h"

#include "platform/files/text.h"

namespace sharewell::platform {

CsvRecord::Fault CsvRecord::Split(std::string_view text, char separator) {
  fields.clear();
  unquoted.clear();
  const auto at_end = [&] { return size >= text.size() || text[size] == '\n'; };
  for (size = 0;; ++size) {
    while (!at_end() && (text[size] == ' ' || text[size] == '\t') && text[size] != separator) {
      ++size;
    }
    if (!at_end() && text[size] == '"') {
      const std::size_t begin = ++size;
      bool doubled = false;
      while (true) {
        size = text.find('"', size);
        if (size == std::string_view::npos) return Fault::kOpenQuote;
        if (size + 1 >= text.size() || text[size + 1] != '"') break;
        doubled = true;
        size += 2;
      }
      std::string_view field = text.substr(begin, size - begin);
      if (doubled) {
        std::string& plain = unquoted.emplace_back();
        for (std::size_t i = 0; i < field.size(); ++i) {
          plain += field[i];
          if (field[i] == '"') ++i;
        }
        field = plain;
      }
      fields.push_back(field);
      ++size;
      while (!at_end() && (text[size] == ' ' || text[size] == '\r')) ++size;
      if (!at_end() && text[size] != separator) return Fault::kBehindQuote;
    } else {
      const std::size_t begin = size;
      while (!at_end() && text[size] != separator) ++size;
      std::string_view field = text.substr(begin, size - begin);
      if (at_end() && field.ends_with('\r')) field.remove_suffix(1);
      fields.push_back(Trimmed(field));
    }
    if (at_end()) return Fault::kNone;
  }
}

}  // namespace sharewell::platform
