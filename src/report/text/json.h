// The few words about JSON that all reports share; json/writer.h writes it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "json/writer.h"

namespace sharewell::report {

inline constexpr int kSchema = 1;

// A report for people and programs: indented, ending in a line break. `members` writes what comes
// behind "schema".
template <class F>
std::string JsonReport(F&& members) {
  return json::Write(json::Style::kReport, [&](json::Writer& out) {
    out.Object([&] {
      out.Field("schema", kSchema);
      members(out);
    });
  });
}

// The same on one line, as the API answers it.
template <class F>
std::string JsonLine(F&& members) {
  std::string text;
  json::Writer out(text, json::Style::kFile);
  out.Object([&] {
    out.Field("schema", kSchema);
    members(out);
  });
  return text;
}

// Null where it is not known.
template <class T>
std::optional<T> ValueIf(bool known, T value) {
  return known ? std::optional<T>(std::move(value)) : std::nullopt;
}

}  // namespace sharewell::report
