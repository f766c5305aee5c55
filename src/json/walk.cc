#include "json/walk.h"

#include <simdjson.h>

#include <cmath>
#include <cstring>
#include <string>

namespace sharewell::json {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::SUCCESS;

ondemand::value& ValueOf(void* value) { return *static_cast<ondemand::value*>(value); }

// The parser has seen to it that the quote at its end is there.
std::string_view TextOf(ondemand::raw_json_string key) {
  const char* const begin = key.raw();
  const char* end = begin;
  while (*end != '"') ++end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::optional<double> Field::Number() {
  double number = 0;
  if (ValueOf(value_).get_double().get(number) != SUCCESS || !std::isfinite(number)) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::string_view> Field::Text() {
  std::string_view text;
  if (ValueOf(value_).get_string().get(text) != SUCCESS) return std::nullopt;
  return text;
}

void Field::Members(const std::function<bool(Field&)>& visit) {
  ondemand::object object;
  if (ValueOf(value_).get_object().get(object) != SUCCESS) return;
  broken_ = !Walker::Members(&object, visit);
}

struct Walker::Impl {
  ondemand::parser parser;
  std::string buffer;  // the parser reads a little past the end of its text

  bool Load(std::string_view before, std::string_view text, std::string_view after,
            ondemand::document& document) {
    const std::size_t size = before.size() + text.size() + after.size();
    buffer.resize(size + simdjson::SIMDJSON_PADDING);
    char* at = buffer.data();
    for (const std::string_view part : {before, text, after}) {
      std::memcpy(at, part.data(), part.size());
      at += part.size();
    }
    return parser.iterate(buffer.data(), size, buffer.size()).get(document) == SUCCESS;
  }
};

Walker::Walker() : impl_(std::make_unique<Impl>()) {}
Walker::~Walker() = default;

bool Walker::Members(void* object, const Visit& visit) {
  for (auto member : *static_cast<ondemand::object*>(object)) {
    ondemand::raw_json_string key;
    ondemand::value value;
    if (member.key().get(key) != SUCCESS || member.value().get(value) != SUCCESS) return false;
    Field field(TextOf(key), &value);
    const bool goes_on = visit(field);
    if (field.broken_) return false;
    if (!goes_on) break;
  }
  return true;
}

bool Walker::Object(std::string_view text, const Visit& visit) {
  ondemand::document document;
  ondemand::object object;
  return impl_->Load("", text, "", document) && document.get_object().get(object) == SUCCESS &&
         Members(&object, visit);
}

bool Walker::Objects(std::string_view text, const Visit& visit, const std::function<void()>& end) {
  ondemand::document document;
  ondemand::array array;
  if (!impl_->Load("[", text, "]", document) || document.get_array().get(array) != SUCCESS) {
    return false;
  }
  for (auto element : array) {
    ondemand::object object;
    if (element.get_object().get(object) != SUCCESS || !Members(&object, visit)) return false;
    end();
  }
  return true;
}

}  // namespace sharewell::json
