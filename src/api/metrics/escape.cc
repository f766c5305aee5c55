#include "api/metrics/escape.h"

#include <algorithm>
#include <cstddef>

#include "core/text/plain_text.h"

namespace sharewell::api {
std::string LabelValue(std::string_view value) {
  std::string out;
  while (!value.empty()) {
    const char c = value.front();
    const std::size_t length = core::PlainLength(value);
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (length == 0) {
      out += '?';
    } else {
      out += value.substr(0, length);
    }
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string HelpText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

}  // namespace sharewell::api
