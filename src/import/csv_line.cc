#include "import/csv_line.h"

#include "platform/files/text.h"

namespace sharewell::imports {

bool SplitLine(std::string_view line, std::vector<std::string_view>& fields,
               std::deque<std::string>& kept) {
  fields.clear();
  kept.clear();
  while (true) {
    if (line.starts_with('"')) {
      std::size_t at = 1;
      bool doubled = false;
      while (true) {
        at = line.find('"', at);
        if (at == std::string_view::npos) return false;
        if (at + 1 >= line.size() || line[at + 1] != '"') break;
        doubled = true;
        at += 2;
      }
      std::string_view field = line.substr(1, at - 1);
      if (doubled) {
        std::string& plain = kept.emplace_back();
        for (std::size_t i = 0; i < field.size(); ++i) {
          plain += field[i];
          if (field[i] == '"') ++i;
        }
        field = plain;
      }
      fields.push_back(field);
      line.remove_prefix(at + 1);
      if (line.empty()) return true;
      if (!line.starts_with(',')) return false;
    } else {
      const auto comma = line.find(',');
      fields.push_back(platform::Trimmed(line.substr(0, comma)));
      if (comma == std::string_view::npos) return true;
      line.remove_prefix(comma);
    }
    line.remove_prefix(1);
  }
}

}  // namespace sharewell::imports
