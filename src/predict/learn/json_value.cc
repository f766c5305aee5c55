#include "predict/learn/json_value.h"

#include <limits>

namespace sharewell::predict::learn {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

template <class T>
std::optional<T> Held(const std::optional<element>& from) {
  T value{};
  if (!from || from->get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

}  // namespace

bool JsonValue::is_true() const { return Held<bool>(element_).value_or(false); }

std::string_view JsonValue::type_name() const {
  if (!element_) return "null";
  switch (element_->type()) {
    case element_type::ARRAY:
      return "array";
    case element_type::OBJECT:
      return "object";
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      return "number";
    case element_type::STRING:
      return "string";
    case element_type::BOOL:
      return "boolean";
    case element_type::NULL_VALUE:
      break;
  }
  return "null";
}

std::optional<JsonValue> JsonValue::Find(std::string_view key) const {
  const auto object = Held<simdjson::dom::object>(element_);
  element found;
  if (!object || object->at_key(key).get(found) != simdjson::SUCCESS) return std::nullopt;
  return JsonValue(found);
}

std::vector<std::pair<std::string_view, JsonValue>> JsonValue::Fields() const {
  std::vector<std::pair<std::string_view, JsonValue>> out;
  if (const auto object = Held<simdjson::dom::object>(element_)) {
    for (const auto field : *object) out.emplace_back(field.key, JsonValue(field.value));
  }
  return out;
}

std::vector<JsonValue> JsonValue::Items() const {
  std::vector<JsonValue> out;
  if (const auto array = Held<simdjson::dom::array>(element_)) {
    out.reserve(array->size());
    for (const element item : *array) out.emplace_back(item);
  }
  return out;
}

std::optional<std::string_view> JsonValue::Text() const { return Held<std::string_view>(element_); }

std::optional<double> JsonValue::Number() const { return Held<double>(element_); }

std::optional<std::vector<double>> JsonValue::Numbers() const {
  const auto array = Held<simdjson::dom::array>(element_);
  if (!array) return std::nullopt;
  std::vector<double> out;
  out.reserve(array->size());
  for (const element item : *array) {
    double number = 0;
    const bool is_one = item.get(number) == simdjson::SUCCESS;
    out.push_back(is_one ? number : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

ParsedJson::ParsedJson(std::string_view text) {
  element root;
  if (parser_.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS) {
    value_ = JsonValue(root);
  }
}

}  // namespace sharewell::predict::learn
