// What a unit of systemd's says, and the file of its environment. Settings alone: no specifiers, no
// line that goes on in the next.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sharewell::platform {

// Adds the settings of [Service] to `settings`; files are read in the order in which systemd does.
// An empty value takes back what was given; capabilities add up, all else is replaced.
void ReadUnitSettings(std::string_view text, std::map<std::string, std::string>& settings);

// The value of `NAME=VALUE`, without quotes; the last one counts. Empty: it is not there.
std::string EnvironmentSetting(std::string_view text, std::string_view name);

}  // namespace sharewell::platform
