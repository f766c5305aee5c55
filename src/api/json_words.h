// Pieces of the API's answers, written by hand: lists are long, and documents made of them first
// would be longer.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "http/http_message.h"
#include "store/jobs/json_text.h"

namespace sharewell::api {

inline std::string JsonText(std::string_view text) {
  std::string out;
  store::AppendText(out, text);
  return out;
}

inline std::string JsonNumber(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : std::string("null");
}

// The values with commas in between; `write` appends one to a string.
template <class List, class Write>
void AppendList(std::string& out, const List& values, Write write) {
  out += '[';
  bool first = true;
  for (const auto& value : values) {
    if (!first) out += ',';
    first = false;
    write(out, value);
  }
  out += ']';
}

inline http::HttpResponse JsonAnswer(std::string body, int status = 200) {
  return {status, "application/json", std::move(body) + "\n", {}};
}

}  // namespace sharewell::api
