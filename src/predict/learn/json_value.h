// JSON text as the parser leaves it, looked at in place: a model file is megabytes of numbers, and
// `sharewell predict` reads it each time it starts, so nothing is copied that nobody asks for.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sharewell::predict::learn {

// One value of a text that is parsed. Valid as long as its ParsedJson is.
class JsonValue {
 public:
  JsonValue() = default;  // null
  explicit JsonValue(const simdjson::dom::element& element) : element_(element) {}

  bool is_null() const { return !element_ || element_->is_null(); }
  bool is_object() const { return element_ && element_->is_object(); }
  bool is_array() const { return element_ && element_->is_array(); }
  bool is_string() const { return element_ && element_->is_string(); }
  bool is_number() const { return element_ && element_->is_number(); }
  bool is_true() const;
  std::string_view type_name() const;  // "array", as messages say it

  // Absent where this is no object or has no such key. Of a key that comes twice the first counts.
  std::optional<JsonValue> Find(std::string_view key) const;
  bool Has(std::string_view key) const { return Find(key).has_value(); }
  // None where it is no object, or no array.
  std::vector<std::pair<std::string_view, JsonValue>> Fields() const;
  std::vector<JsonValue> Items() const;
  // Absent where it is none. Items that are no numbers come as NaN, which JSON does not have.
  std::optional<std::string_view> Text() const;
  std::optional<double> Number() const;
  std::optional<std::vector<double>> Numbers() const;

 private:
  std::optional<simdjson::dom::element> element_;
};

class ParsedJson {
 public:
  // The text is not needed any more afterwards.
  explicit ParsedJson(std::string_view text);
  // Null where the text is no JSON, nests deeper than 1,024 levels, or has a whole number of more
  // than 64 bits.
  const JsonValue& value() const { return value_; }

 private:
  simdjson::dom::parser parser_;
  JsonValue value_;
};

}  // namespace sharewell::predict::learn
