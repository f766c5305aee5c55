// Text as Prometheus' format wants it, whatever it holds.
#pragma once

#include <string>
#include <string_view>

namespace sharewell::api {

// The inside of a label's quotes: backslash, quote and line break escaped; other controls and
// broken UTF-8, which would cost the whole page, become '?'.
std::string LabelValue(std::string_view value);

// What stands behind `# HELP name`. REQUIRES: UTF-8.
std::string HelpText(std::string_view text);

}  // namespace sharewell::api
