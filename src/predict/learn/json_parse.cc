#include "predict/learn/json_parse.h"

#include <simdjson.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/result.h"

namespace sharewell::predict::learn {
namespace {

using nlohmann::json;
using simdjson::dom::element_type;

// What `element` holds. REQUIRES a T, which its type() has told.
template <class T>
T Held(const simdjson::dom::element& element) {
  T value{};
  SHAREWELL_CHECK(element.get(value) == simdjson::SUCCESS);
  return value;
}

constexpr std::size_t kFewestPacked = 12;
constexpr std::size_t kMostPacked =
    0xFFFFFF;  // from here on the parser does not tell how many there are

// Their bytes, where all are numbers; else null.
json Packed(const simdjson::dom::array& from) {
  json::binary_t::container_type bytes(from.size() * sizeof(double));
  std::size_t at = 0;
  for (const auto item : from) {
    double number = 0;
    if (item.get(number) != simdjson::SUCCESS) return nullptr;
    std::memcpy(bytes.data() + at, &number, sizeof number);
    at += sizeof number;
  }
  return json::binary(std::move(bytes));
}

// The parser refuses what is nested deeper than 1,024 levels, so this recursion ends.
json ToJson(const simdjson::dom::element& element, bool pack) {
  switch (element.type()) {
    case element_type::ARRAY: {
      json::array_t list;
      const auto from = Held<simdjson::dom::array>(element);
      if (pack && from.size() >= kFewestPacked && from.size() < kMostPacked) {
        if (json packed = Packed(from); !packed.is_null()) return packed;
      }
      list.reserve(from.size());
      for (const auto item : from) list.push_back(ToJson(item, pack));
      return list;
    }
    case element_type::OBJECT: {
      json::object_t object;
      const auto from = Held<simdjson::dom::object>(element);
      // Of a key that comes twice the last one counts.
      for (const auto field : from) object[std::string(field.key)] = ToJson(field.value, pack);
      return object;
    }
    case element_type::INT64: {
      const auto number = Held<std::int64_t>(element);
      if (number < 0) return number;
      return static_cast<std::uint64_t>(number);
    }
    case element_type::UINT64:
      return Held<std::uint64_t>(element);
    case element_type::DOUBLE:
      return Held<double>(element);
    case element_type::STRING:
      return std::string(Held<std::string_view>(element));
    case element_type::BOOL:
      return Held<bool>(element);
    case element_type::NULL_VALUE:
      break;
  }
  return nullptr;
}

}  // namespace

namespace {

json Parse(std::string_view text, bool pack) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  // What this parser does not take, such as whole numbers of more than 64 bits, the other may.
  if (parser.parse(text.data(), text.size()).get(element) != simdjson::SUCCESS) {
    return json::parse(text, nullptr, false);
  }
  return ToJson(element, pack);
}

}  // namespace

json ParseFast(std::string_view text) { return Parse(text, false); }

json ParsePacked(std::string_view text) { return Parse(text, true); }

}  // namespace sharewell::predict::learn
