#include "platform/files/unit_file.h"

#include "platform/files/text.h"

namespace sharewell::platform {

void ReadUnitSettings(std::string_view text, std::map<std::string, std::string>& settings) {
  bool service = false;
  for (const std::string_view line : SplitList(text, '\n')) {
    if (line.starts_with('[')) service = line == "[Service]";
    const std::size_t equals = line.find('=');
    if (!service || line.starts_with('#') || line.starts_with(';') || equals == line.npos) continue;
    const std::string key(Trimmed(line.substr(0, equals)));
    const std::string value(Trimmed(line.substr(equals + 1)));
    std::string& kept = settings[key];
    const bool adds_up = key == "CapabilityBoundingSet" || key == "AmbientCapabilities";
    if (value.empty() || !adds_up || kept.empty()) {
      kept = value;
    } else {
      kept += " " + value;
    }
  }
}

std::string EnvironmentSetting(std::string_view text, std::string_view name) {
  std::string found;
  for (std::string_view line : SplitList(text, '\n')) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != '=') continue;
    line.remove_prefix(name.size() + 1);
    if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'') &&
        line.back() == line.front()) {
      line = line.substr(1, line.size() - 2);
    }
    found = line;
  }
  return found;
}

}  // namespace sharewell::platform
