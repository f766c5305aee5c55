#include "graph/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

#include "core/text/quoted.h"

namespace sharewell::graph {
namespace {

using nlohmann::json;

std::string QuotedJson(const json& value) {
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  // Never throws: broken UTF-8 is replaced.
  return core::Quoted(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

core::Result<json> ParseJson(std::string_view text, const std::string& name, std::size_t largest) {
  if (text.size() > largest) {
    return core::UsageError("{}: is {} bytes long; we read up to {} of such a file", name,
                            text.size(), largest);
  }
  // The library reports by exception where it stopped reading.
  try {
    return json::parse(text.begin(), text.end());
  } catch (const json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte, text.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    return core::UsageError(
        "{}: line {}: is no valid JSON here (byte {}); mend it, or write it with a JSON library",
        name, line, error.byte);
  } catch (const std::exception&) {
    return core::UsageError("{}: cannot be read as JSON: a number in it is out of range", name);
  }
}

const json* JsonObject::Find(std::string_view key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> JsonObject::WholeFrom(const json& value, std::string_view key,
                                                  Range range) {
  std::optional<std::int64_t> whole;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number <= static_cast<std::uint64_t>(kLargestDim))
      whole = static_cast<std::int64_t>(number);
  } else if (value.is_number_integer()) {
    whole = value.get<std::int64_t>();
  }
  if (whole && *whole >= range.least && *whole <= range.most) return whole;
  Fail(key, fmt::format("must be a whole number from {} to {}, not {}", range.least, range.most,
                        QuotedJson(value)));
  return std::nullopt;
}

std::int64_t JsonObject::WholeOf(const std::vector<std::string_view>& keys, Range range,
                                 std::optional<std::int64_t> fallback) {
  const std::int64_t safe = std::max<std::int64_t>(range.least, 1);
  for (const std::string_view key : keys) {
    const json* value = Find(key);
    if (value != nullptr) return WholeFrom(*value, key, range).value_or(safe);
  }
  if (fallback) return *fallback;
  Fail(keys.front(),
       fmt::format("is missing; give a whole number from {} to {}", range.least, range.most));
  return safe;
}

double JsonObject::Number(std::string_view key, double least, double most, double fallback) {
  const json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) {
    const auto number = value->get<double>();
    if (std::isfinite(number) && number >= least && number <= most) return number;
  }
  Fail(key, fmt::format("must be a number from {} to {}, not {}", least, most, QuotedJson(*value)));
  return fallback;
}

bool JsonObject::Bool(std::string_view key, bool fallback) {
  const json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  Fail(key, fmt::format("must be true or false, not {}", QuotedJson(*value)));
  return fallback;
}

std::string JsonObject::Text(std::string_view key, const std::string& fallback) {
  const json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  Fail(key, fmt::format("must be a text in quotes, not {}", QuotedJson(*value)));
  return fallback;
}

Dims JsonObject::Wholes(std::string_view key, Range range, std::size_t count,
                        std::optional<std::int64_t> fallback) {
  const json* value = Find(key);
  if (value == nullptr || !value->is_array()) return Dims(count, Whole(key, range, fallback));
  Dims numbers;
  if (value->size() == count) {
    for (const json& item : *value) {
      const auto number = WholeFrom(item, key, range);
      if (!number) break;
      numbers.push_back(*number);
    }
  } else {
    Fail(key, fmt::format("must be one number or a list of {}, not of {}", count, value->size()));
  }
  numbers.resize(count, std::max<std::int64_t>(range.least, 1));
  return numbers;
}

void JsonObject::Fail(std::string_view key, const std::string& problem) {
  FailWith(fmt::format("{} {}", core::Quoted(key), problem));
}

void JsonObject::FailWith(const std::string& message) {
  if (!error_) error_ = core::Error{core::ErrorKind::kUsage, where_ + ": " + message};
}

}  // namespace sharewell::graph
